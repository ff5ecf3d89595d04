import type { RunningServer } from "../../app.ts";
import { parseConfig } from "../../config/config.ts";
import { command, jsonText } from "../command.ts";
import { configInput, registerOptions } from "../configuration.ts";
import { inputEnd, untilStopped } from "../until-stopped.ts";

export const addServe = command({
  usage: "serve",
  summary: "start a server; the default command",
  description:
    "Start a server: the page, the API and /ws. Sessions belong to a session host, which the server starts unless one runs, and outlive the server. Every option can also be given as the variable TTYHQ_OPTION_NAME.",
  examples: [
    [
      "ttyhq serve --bind 127.0.0.1 --login-link",
      "for yourself on this machine, with a link that logs you in",
    ],
    ["SERVICE_USERNAME=me SERVICE_PASSWORD=… ttyhq serve", "on all addresses, with a password"],
    ["ttyhq serve --port 8080 --allowed-origin https://term.example.com", "behind a proxy of your own"],
  ],
  flags: {
    json: ["--json", 'print the address as one line {"event": "listening", "url", "loginLink", "behind"}'],
    stopWithInput: ["--stop-with-input", "stop when standard input ends, as when its writer dies"],
  },
  extend: (added) => registerOptions(added, "server"),
  run: async ({ json, stopWithInput, ...flags }, _, cli) => {
    const config = parseConfig(await configInput(flags, cli));
    const isJson = json === true || config.log.format === "json";
    const start = async (): Promise<RunningServer> => {
      const server = await cli.startServer(config);
      const { url, loginLink, behind } = server;
      const report = { event: "listening", url, loginLink, behind };
      cli.stdout.write(isJson ? jsonText(report) : announced(server, cli.version));
      return server;
    };
    const ended = stopWithInput === true ? () => inputEnd(cli.stdin) : undefined;
    const stop = { signals: ["SIGINT", "SIGTERM", "SIGHUP"], graceMs: config.graceMs } as const;
    await untilStopped(start, stop, ended);
  },
});

function announced({ url, loginLink, behind }: RunningServer, version: string): string {
  const link =
    loginLink === undefined ? "" : `log in with this link, once and within 10 minutes: ${loginLink}\n`;
  const place =
    behind === undefined ? "" : `the proxy there leads to ${behind}, which is for this machine alone\n`;
  return `ttyhq ${version} serves ${url}\n${place}${link}`;
}
