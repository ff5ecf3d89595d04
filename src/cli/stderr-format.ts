// Where the log is to be JSON, everything else that a service says on standard error is, too: one reader takes all lines.
import { Writable } from "node:stream";
import { flagOf } from "../config/options/option.ts";
import { OPTIONS } from "../config/options/options.ts";
import { attributeOf } from "../config/sources/flags.ts";
import { OptionReader } from "../config/sources/reader.ts";
import { createLogger } from "../log.ts";
import { configInput } from "./configuration.ts";
import type { Cli, OutputStream } from "./process-context.ts";

/** The command line of a service with standard error in JSON, warnings of Node and uncaught exceptions included, where that was asked for. */
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
  const flags = Object.fromEntries(
    [OPTIONS.logFormat, OPTIONS.config].flatMap((option) => {
      const flag = flagOf(option) ?? "";
      const text = lastOf(cli.argv, flag);
      return text === undefined ? [] : [[attributeOf(flag), text]];
    }),
  );
  const { config: _, ...others } = flags;
  const withoutFile = (): ReturnType<typeof configInput> =>
    configInput(others, { ...cli, env: { ...cli.env, TTYHQ_CONFIG: undefined } });
  return new OptionReader(await configInput(flags, cli).catch(withoutFile)).value(OPTIONS.logFormat);
}

function lastOf(argv: readonly string[], flag: string): string | undefined {
  const index = argv.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const word = argv[index];
  return word === flag ? argv[index + 1] : word?.slice(flag.length + 1);
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
