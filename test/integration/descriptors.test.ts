// A server and a session host without free file descriptors: existing clients stay, new ones are refused with a reason,
// and both recover.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { KILL_GRACE_MS } from "../../src/protocol/limits.ts";
import { Follower } from "./harness/follower.ts";
import { OpensslAuthority } from "./harness/openssl-authority.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { proxiedServer, proxyOrigin } from "./harness/proxied-server.ts";
import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

const CROWD = 100;
/** More than a server reserves, and enough for a few connections. */
const ROOM = 50;

async function openDescriptors(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

async function limit(pid: number, descriptors: number): Promise<void> {
  await promisify(execFile)("prlimit", ["--pid", `${pid}`, `--nofile=${descriptors}:`]);
}

/** CPU time of a process in seconds. */
async function processorSeconds(pid: number): Promise<number> {
  const [, fields = ""] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user, system] = fields.split(" ").slice(11, 13);
  return (Number(user) + Number(system)) / 100;
}

/** Over a separate connection; undefined if none was available. */
function askAnew({ url }: TestServer): Promise<Response | undefined> {
  const headers = { connection: "close" };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return fetch(new URL("/api/sessions", url), { headers, signal }).catch(() => undefined);
}

/** Idle connections, as many as are accepted. */
function crowd(port: number): Disposable & { readonly sockets: readonly Socket[] } {
  const sockets = Array.from({ length: CROWD }, () =>
    connect(port, "127.0.0.1")
      .on("error", () => {})
      .resume(),
  );
  return { sockets, [Symbol.dispose]: () => sockets.map((socket) => socket.destroy()) };
}

test("a server without file descriptors keeps its connections, tells new ones, does not spin, and recovers", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const rest = new Rest(server);
  const { id } = await rest.run("stty -echo; while read line; do echo said $line; done");
  using socket = server.connect();
  using follower = Follower.attach(socket, id);
  const said = async (word: string): Promise<void> => {
    await socket.write(id, new TextEncoder().encode(`${word}\n`));
    await follower.shows(new RegExp(`said ${word}`));
  };
  await socket.opened(PATIENCE_MS);
  await said("before");
  const port = Number(new URL(server.url).port);
  await limit(server.pid, (await openDescriptors(server.pid)) + ROOM);
  // The server's view of its limit may be a second old.
  const refused = await eventually(async () => {
    using others = crowd(port);
    const answer = await askAnew(server);
    if (answer?.status !== 503) return undefined;
    await said("meanwhile");
    await eventually(
      async () => (others.sockets.some(({ closed }) => closed) ? true : undefined),
      "the end of the connections that were too many",
    );
    return answer.json();
  }, "a refusal");
  expect(refused).toEqual({
    error: expect.stringContaining("no file descriptors left for another connection: try again later"),
    code: "out_of_descriptors",
    details: {},
  });
  // No new clients: the server is idle.
  const [begunMs, used] = [performance.now(), await processorSeconds(server.pid)];
  await eventually(async () => (server.log.includes("are left again") ? true : undefined), "the log");
  const seconds = (performance.now() - begunMs) / 1000;
  // It may be over already, and CPU time has a resolution of hundredths.
  expect((await processorSeconds(server.pid)) - used).toBeLessThan(seconds / 2 + 0.1);
  await eventually(async () => {
    const answer = await askAnew(server);
    return answer?.status === 200 ? true : undefined;
  }, "the server as it was");
  const told = server.log.split("\n").filter((line) => line.includes("descriptors"));
  const messages = told.map((line) => JSON.parse(line).message);
  // Connections that were not refused in time may have come and gone before.
  const pair = ["out of file descriptors: new connections are refused", "file descriptors are left again"];
  expect(messages).toEqual(messages.map((_, index) => pair[index % 2]));
  expect(messages.at(-1)).toBe(pair[1]);
  await said("after");
});

test("a server behind its own proxy logs that the proxy refuses connections", async () => {
  await using authority = await OpensslAuthority.make();
  const origin = await proxyOrigin();
  const args = ["--proxy-client-ca", authority.certFile];
  await using server = await proxiedServer({ origin, authority, args, asProcess: true });
  await limit(server.pid, (await openDescriptors(server.pid)) + ROOM);
  // The server's view of its limit may be a second old.
  await eventually(async () => {
    using others = crowd(Number(new URL(origin).port));
    await Promise.race(others.sockets.map((socket) => once(socket, "close")));
    return server.log.includes("out of file descriptors") ? true : undefined;
  }, "the log");
});

test("a session host without file descriptors refuses new sessions with the way out; those that run go on", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const rest = new Rest(server);
  const { id } = await rest.run("stty -echo; echo ready; while read line; do echo said $line; done; exit 3");
  using socket = server.connect();
  using follower = Follower.attach(socket, id);
  // Earlier input would be echoed.
  await follower.shows(/ready/);
  const say = async (word: string): Promise<void> => {
    await rest.post(`/api/sessions/${id}/input`, { text: `${word}\n` });
    await follower.shows(new RegExp(`said ${word}`));
  };
  await say("before");
  const host = await server.hostPid();
  await limit(host, (await openDescriptors(host)) + 2);
  // The host's view of its limit may be a second old.
  const refused = await eventually(async () => {
    const answer = await rest.post("/api/sessions", { command: "true" });
    return answer.status === 503 ? answer : undefined;
  }, "a refusal");
  expect(refused.json).toMatchObject({ code: "out_of_descriptors" });
  await say("meanwhile");
  expect((await rest.get(`/api/sessions/${id}`)).status).toBe(200);
  await limit(host, 1024);
  const again = await eventually(async () => {
    const answer = await rest.post("/api/sessions", { command: "true" });
    return answer.status === 201 ? answer : undefined;
  }, "a new session");
  expect(again.json).toMatchObject({ command: ["true"] });
  await say("after");
  await rest.post(`/api/sessions/${id}/input`, { text: "\u0004" });
  expect(await rest.ended(id)).toMatchObject({ exitCode: 3 });
  expect((await rest.get(`/api/sessions/${id}/output`)).text).toBe(
    "ready\r\nsaid before\r\nsaid meanwhile\r\nsaid after\r\n",
  );
});

test("a session host without file descriptors lives on when a program that ignores SIGTERM is to be killed, and kills it later", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const rest = new Rest(server);
  // Tenths of a second since SIGTERM.
  const { id } = await rest.run(
    "trap 'n=0' TERM; n=1000; while :; do echo $n.; n=$((n + 1)); sleep 0.1; done",
  );
  using socket = server.connect();
  using follower = Follower.attach(socket, id);
  await follower.shows(/\b1000\./);
  const host = await server.hostPid();
  expect((await rest.post(`/api/sessions/${id}/kill`, { signal: "SIGTERM" })).status).toBe(200);
  // Open ones stay open.
  await limit(host, 3);
  await follower.shows(new RegExp(`\\b${KILL_GRACE_MS / 100 + 2}\\.`));
  await limit(host, 1024);
  expect(await rest.ended(id)).toMatchObject({ exitSignal: "SIGKILL" });
  expect(await server.hostPid()).toBe(host);
});
