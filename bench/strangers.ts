// The latency of /livez while strangers request everything that needs no login: `node bench/strangers.ts` after `npm
// run build`. README.md beside this file describes it. The strangers run in a separate process.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { bearer, logIn, passwordServer } from "../test/integration/harness/password-server.ts";

const STRANGERS = 50;
/** Fewer than a user's calls per minute. */
const SESSIONS = 90;
const SECONDS = 15;
const PROBE_EVERY_MS = 20;
/** Lets background work of the sessions' start finish. */
const REST_MS = 5_000;

type Ask = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
};

const json = (value: unknown): string => JSON.stringify(value);
const HANDSHAKE = {
  ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const BODY = { method: "POST", headers: { "content-type": "application/json" } };

/** By name, so that each can be measured alone. */
const KINDS: Readonly<Record<string, Ask>> = {
  livez: { path: "/livez" },
  health: { path: "/api/health" },
  openapi: { path: "/api/openapi.json" },
  metrics: { path: "/metrics" },
  page: { path: "/" },
  missing: { path: "/api/nothing/at/all" },
  "missing page": { path: "/nothing/at/all.html" },
  sessions: { path: "/api/sessions" },
  "forged token": {
    path: "/api/sessions",
    headers: { authorization: `Bearer ${"x".repeat(200)}.${"y".repeat(300)}.z` },
  },
  "auth config": { path: "/api/auth/config" },
  challenge: { ...BODY, path: "/api/auth/challenge", body: "{}" },
  "wrong password": { ...BODY, path: "/api/auth/token", body: json({ username: "ada", password: "wrong" }) },
  "body that is no JSON": { ...BODY, path: "/api/auth/token", body: "{".repeat(16_000) },
  "long body": { ...BODY, path: "/api/auth/token", body: json({ password: "x".repeat(1_000_000) }) },
  "long body for sessions": {
    ...BODY,
    path: "/api/sessions",
    body: json({ command: Array(100_000).fill("xxxxxxx") }),
  },
  handshake: { path: "/ws", headers: HANDSHAKE },
};

/** A stranger: sends a request after each answer, until the process is ended. */
async function loop(origin: string, kinds: readonly Ask[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: STRANGERS });
  const stranger = async (first: number): Promise<void> => {
    for (let turn = first; ; turn += 1) {
      const ask = kinds[turn % kinds.length];
      if (ask !== undefined) await answer(origin, ask, agent).catch(() => pause(1));
    }
  };
  await Promise.all(Array.from({ length: STRANGERS }, (_, index) => stranger(index)));
}

async function answer(origin: string, { body, ...ask }: Ask, agent?: Agent): Promise<number> {
  const outgoing = request(origin, { ...ask, agent: agent ?? false });
  outgoing.end(body);
  const [response] = await once(outgoing, "response");
  for await (const _ of response);
  return response.statusCode;
}

async function probe(origin: string): Promise<readonly number[]> {
  const times: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  while (performance.now() < end) {
    const begin = performance.now();
    await answer(origin, { path: "/livez" });
    times.push(performance.now() - begin);
    await pause(PROBE_EVERY_MS);
  }
  return times.toSorted((a, b) => a - b);
}

async function measure(origin: string, name: string): Promise<string> {
  const strangers: ChildProcess = fork(import.meta.filename, ["--strangers", origin, name]);
  await pause(1_000);
  const times = await probe(origin);
  strangers.kill("SIGKILL");
  await once(strangers, "exit");
  const at = (part: number): string =>
    (times[Math.floor(times.length * part)] ?? Number.NaN).toFixed(1).padStart(7);
  return `p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(0.9999)}`;
}

/** The lower bound: a server in a separate process that answers everything with "ok", and reads no body. */
function serveMinimal(): void {
  const server = createServer((incoming, response) => {
    incoming.resume();
    response.end("ok");
  });
  server.on("upgrade", (_, socket) => {
    socket.on("error", () => {});
    // Unread bodies would keep connections open and use up all file descriptors.
    socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", () => socket.destroy());
  });
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
}

// Ends the strangers with the measuring process.
if (process.connected) process.once("disconnect", () => process.exit());
const [flag, origin = "", name = ""] = process.argv.slice(2);
if (flag === "--minimal") serveMinimal();
else if (flag === "--strangers") {
  const only = KINDS[name];
  await loop(origin, only === undefined ? Object.values(KINDS) : [only]);
} else {
  const wanted = process.argv.slice(2);
  const names = wanted.length > 0 ? wanted : ["nobody", ...Object.keys(KINDS), "everything"];
  const args = ["--rate-limit-sessions", "0", "--rate-limit-api", "100"];
  await using server = await passwordServer("apart", { args });
  const headers = { ...bearer(await logIn(server)), "content-type": "application/json" };
  for (let count = 0; count < SESSIONS; count += 1) {
    const body = json({ command: ["sleep", "1000"] });
    const status = await answer(server.url, { method: "POST", path: "/api/sessions", headers, body });
    if (status !== 201) throw new Error(`no session: ${status}`);
  }
  await pause(REST_MS);
  const minimal: ChildProcess = fork(import.meta.filename, ["--minimal"]);
  const [address] = await once(minimal, "message");
  for (const each of names) {
    const own = await measure(server.url, each);
    const floor = await measure(`http://127.0.0.1:${address.port}`, each);
    process.stdout.write(`${each.padEnd(24)} ${own}   minimal ${floor}  (ms)\n`);
  }
  minimal.kill();
}
