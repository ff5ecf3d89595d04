// Prints the files of src whose functions run while a session is created through an HQ: in the HQ and in the server behind
// it, from the moment that one has read the request until it sends the request on. An HQ, a server and its session host are
// in this process. Plain Node runs it, as recorder.ts.
import { mkdtempDisposable } from "node:fs/promises";
import { ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer, startSessionHost } from "../../../../src/app.ts";
import { parseConfig, parseHostConfig } from "../../../../src/config/config.ts";
import { Coverage, contextIn, inputIn, OWN } from "./coverage.ts";

const RUNS = 5;
/** The name of each session; it stands in requests to create one, and in answers to them. */
const NAME = "followed by a recorder";
/** The HQ to the remote, and the remote's server to its session host. */
const HOPS = 2;

const coverage = new Coverage();
/** The files of each hop of the session that is being created. */
let hops: ReadonlySet<string>[] = [];

const { parse } = JSON;
JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]) => {
  const value: unknown = parse(text, reviver);
  if (text.includes(NAME)) coverage.take();
  return value;
};
for (const method of ["write", "end"] as const) {
  const send = ClientRequest.prototype[method];
  ClientRequest.prototype[method] = function (this: ClientRequest, ...values: unknown[]) {
    const [body] = values;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
    if (text.includes(NAME)) hops.push(coverage.take());
    return Reflect.apply(send, this, values);
  };
}

async function ask(url: string, body?: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, body && { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-path-"));
await using hqFolder = await mkdtempDisposable(join(tmpdir(), "ttyhq-path-"));
const { path } = folder;
const limits = { rateLimitApi: "0", rateLimitSessions: "0" };
const hqFlags = { ...limits, port: "0", bind: "127.0.0.1", auth: false, hq: true };
await using hq = await startServer(parseConfig(inputIn(hqFolder.path, hqFlags)), contextIn(hqFolder.path));
await using _host = await startSessionHost(parseHostConfig(inputIn(path, {})), contextIn(path));
const joining = { hqUrl: hq.url, hqAuth: false, allowInsecureHq: true, name: "box" };
await using _server = await startServer(
  parseConfig(inputIn(path, { ...limits, ...OWN, ...joining })),
  contextIn(path),
);
let remotes: readonly { readonly id: string }[] = [];
while (remotes.length === 0) remotes = Object(await ask(`${hq.url}/api/remotes`));

let common: ReadonlySet<string> | undefined;
for (let run = 0; run <= RUNS; run++) {
  await coverage.settled();
  hops = [];
  await ask(`${hq.url}/api/sessions`, { command: ["true"], name: NAME, remoteId: remotes[0]?.id });
  if (hops.length !== HOPS) throw new Error(`the request was sent on ${hops.length} times`);
  const files = hops.reduce((all, each) => all.union(each));
  // The first one warms up: it loads and connects.
  if (run > 0) common = common?.intersection(files) ?? files;
}
process.stdout.write(JSON.stringify([...(common ?? [])].sort()));
