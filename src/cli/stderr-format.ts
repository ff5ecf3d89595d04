// With a JSON log, everything else that a service writes to standard error is JSON as well.
import { Writable } from "node:stream";
import { parseArgs } from "node:util";
import { OPTIONS } from "../config/options/options.ts";
import { OptionReader } from "../config/sources/reader.ts";
import { createLogger } from "../log.ts";
import { configInput } from "./configuration.ts";
import type { Cli, OutputStream } from "./process-context.ts";

/** With `--log-format json`: standard error in JSON, including Node's warnings and uncaught exceptions. */
export async function serviceInLogFormat(cli: Cli): Promise<Cli> {
  if ((await logFormatOf(cli)) !== "json") return cli;
  const log = createLogger({ level: "info", format: "json", destination: cli.stderr });
  cli.reportFaults({
    warning: (error) => log.warn({ error }, "warning of Node"),
    uncaught: (error) => log.error({ error }, "uncaught exception"),
  });
  return { ...cli, stderr: jsonLines(cli.stderr, (message) => log.error({}, message)) };
}

/** Read before validation: configuration errors have this format as well. */
async function logFormatOf(cli: Cli): Promise<string> {
  const options = { "log-format": { type: "string" }, config: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...cli.argv], strict: false, options });
  const flags = { logFormat: values["log-format"] };
  const withoutFile = (): ReturnType<typeof configInput> =>
    configInput(flags, { ...cli, env: { ...cli.env, TTYHQ_CONFIG: undefined } });
  const input = await configInput({ ...flags, config: values.config }, cli).catch(withoutFile);
  return new OptionReader(input).value(OPTIONS.logFormat);
}

/** Each write is one message; log lines pass unchanged. */
function jsonLines(stderr: OutputStream, tell: (message: string) => void): OutputStream {
  return new Writable({
    decodeStrings: false,
    write(chunk: unknown, _, done) {
      const text = String(chunk);
      if (text.startsWith("{")) stderr.write(text);
      else if (text.trim() !== "") tell(text.trim().replace(/^ttyhq: /, ""));
      done();
    },
  });
}
