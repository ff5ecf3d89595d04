import type { Health } from "../../protocol/schemas/health.ts";
import { ExitCode } from "../command.ts";
import { query } from "../query.ts";
import { clientAt, localSockets, type Server, unlessListening } from "../server.ts";
import { duration } from "../text.ts";

type Status = {
  readonly controlDir?: string;
  readonly url?: string;
  readonly server: Health | undefined;
  readonly sessionHost?: Health | undefined;
};

export const addStatus = query({
  usage: "status",
  summary: "show the server and the session host of this machine",
  description:
    "Show the server and the session host of this machine, with their versions and sessions. The exit code is 1 when neither runs.",
  examples: [["ttyhq status --json | jq .server.version", "the server's version"]],
  json: "print it as JSON",
  ask: statusOf,
  text: statusText,
  exitCode: ({ server, sessionHost }) => ((server ?? sessionHost) ? ExitCode.Ok : ExitCode.Failed),
});

async function statusOf({ client, name, controlDir }: Server): Promise<Status> {
  if (controlDir === undefined) return { url: name, server: await client.health() };
  const sockets = localSockets(controlDir);
  const health = [sockets.server, sockets.host].map((path) => clientAt(path).health().catch(unlessListening));
  const [server, sessionHost] = await Promise.all(health);
  return { controlDir, server, sessionHost };
}

function statusText({ controlDir, url, server, sessionHost }: Status): string {
  const rows = [["server", sentence(server)]];
  if (controlDir !== undefined)
    rows.push(["session host", sentence(sessionHost)], ["control directory", controlDir]);
  if (url !== undefined) rows.push(["address", url]);
  const running = server ?? sessionHost;
  if (running !== undefined) rows.push(["sessions", `${running.sessions} running`]);
  return rows.map(([label = "", text]) => `${label.padEnd(19)}${text}\n`).join("");
}

function sentence(health: Health | undefined): string {
  if (health === undefined) return "not running";
  const { version, mode, pid, uptime, cordoned } = health;
  return `version ${version}, ${mode}, pid ${pid}, up ${duration(uptime)}${cordoned ? ", cordoned" : ""}`;
}
