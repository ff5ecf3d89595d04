// How a server starts, refuses to start, and stops.
import { once } from "node:events";
import { chmod, mkdir, mkdtempDisposable, readdir, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { headOf } from "./harness/answer-head.ts";
import { ttyhq } from "./harness/command.ts";
import { Follower } from "./harness/follower.ts";
import { ask, openSocket } from "./harness/http.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { killIfThere } from "./harness/processes.ts";
import { gone, TestServer } from "./harness/test-server.ts";

const OPEN = ["--no-auth", "--bind", "127.0.0.1", "--port", "0", "--session-host", "inline"];

const scratch = () => mkdtempDisposable(join(tmpdir(), "ttyhq-start-"));

test("with options that contradict each other the server does not start, says what to do, and leaves nothing behind", async () => {
  await using directory = await scratch();
  const controlDir = join(directory.path, "c");
  const options = ["--enable-proxy-serve", "--proxy-external", "--bind", "0.0.0.0"];
  expect(await ttyhq(["serve", "--port", "0", "--control-dir", controlDir, ...options])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "ttyhq: --enable-proxy-serve listens on 127.0.0.1 alone, and --bind says 0.0.0.0: leave it out, and say with --proxy-listen where the proxy listens\n",
  });
  expect(await readdir(directory.path)).toEqual([]);
});

test("half a pair of name and password is no pair", async () => {
  await using directory = await scratch();
  const args = ["serve", "--port", "0", "--control-dir", directory.path];
  expect(await ttyhq(args, { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: undefined })).toMatchObject({
    code: 2,
    stderr: "ttyhq: SERVICE_USERNAME is set without SERVICE_PASSWORD: set both or none\n",
  });
});

test("a port in use is named, and its owner continues", async () => {
  await using directory = await scratch();
  await using server = await TestServer.start({
    asProcess: true,
    args: ["--no-auth", "--session-host", "inline"],
  });
  const { port } = new URL(server.url);
  const { code, stderr } = await ttyhq(["serve", ...OPEN, "--port", port, "--control-dir", directory.path]);
  expect([code, stderr]).toEqual([
    1,
    `ttyhq: port ${port} of 127.0.0.1 is taken: stop what listens there, or give another one with --port\n`,
  ]);
  expect((await ask(server.url, "/api/health")).status).toBe(200);
});

test("an address that is not this machine's is named", async () => {
  await using directory = await scratch();
  const args = ["serve", ...OPEN, "--bind", "192.0.2.1", "--control-dir", directory.path];
  const { code, stderr } = await ttyhq(args);
  expect(code).toBe(1);
  expect(stderr.split("\n").at(-2)).toBe(
    "ttyhq: 192.0.2.1 is no address of this machine: give one of its own with --bind",
  );
});

test.each(["inline", "apart"])("a control directory that cannot be is named (sessions %s)", async (where) => {
  await using directory = await scratch();
  const file = join(directory.path, "file");
  const sharedFolder = join(directory.path, "shared");
  await writeFile(file, "");
  await mkdir(sharedFolder);
  await writeFile(join(sharedFolder, "of another"), "");
  await chmod(sharedFolder, 0o1777);
  for (const path of [join(file, "c"), sharedFolder]) {
    const { code, stderr } = await ttyhq(["serve", ...OPEN, "--session-host", where, "--control-dir", path]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^ttyhq: cannot use \S+ as the control directory \(.+\): give one of your own with --control-dir\n$/,
    );
  }
  expect((await stat(sharedFolder)).mode & 0o7777).toBe(0o1777);
  expect(await readdir(sharedFolder)).toEqual(["of another"]);
});

test.each([["serve", "--no-auth"], ["session-host"], ["ls"], ["run", "true"]])(
  "a control directory with too long a path for its sockets is refused with the way out (ttyhq %s)",
  async (command, ...more) => {
    await using directory = await scratch();
    const path = join(directory.path, "x".repeat(80));
    const { code, stdout, stderr } = await ttyhq([command, "--control-dir", path, ...more]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `ttyhq: --control-dir: ${path} has ${path.length} bytes, must have at most 80, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one\n`,
    );
    expect(await readdir(directory.path)).toEqual([]);
  },
);

test("the longest control directory that is let through works", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "x".repeat(80 - directory.path.length - 1));
  await using _server = await TestServer.start({ asProcess: true, args: [...OPEN, "--control-dir", path] });
  expect(await ttyhq(["ls", "--json", "--control-dir", path])).toEqual({
    code: 0,
    stdout: "[]\n",
    stderr: "",
  });
});

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s ends sockets and streams, and the server with 0, but no session",
  async (signal) => {
    await using server = await TestServer.start({ asProcess: true });
    const { json: session } = await ask(server.url, "/api/sessions", { body: { command: ["cat"] } });
    const hostPid = await server.hostPid();
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    await within(once(socket, "message"), "the welcome");
    const streams = [
      await openStream(`${server.url}/api/sessions/${session.id}/stream`),
      await openStream(`${server.url}/api/sessions/${session.id}/recording`),
    ];
    const closed = within(once(socket, "close"), "the close");
    expect(await server.kill(signal)).toEqual({ code: 0, signal: null });
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual([1001, "the server is shutting down"]);
    for (const { broken } of streams) expect(await broken).toMatchObject({ code: "ECONNRESET" });
    expect(await server.hostPid()).toBe(hostPid);
    await server.restart();
    const again = await ask(server.url, `/api/sessions/${session.id}`);
    expect(again.json).toMatchObject({ status: "running", pid: session.pid });
  },
);

test("SIGTERM to the session host ends its programs in order, notifies their viewers, and the server starts another", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const client = server.client();
  // It takes its time, which an early second host would take for a crash.
  const script =
    "trap '' HUP; trap 'sleep 1; echo saved; exit 7' TERM; echo ready; while :; do read line; done";
  const { id } = await client.create({ command: ["sh", "-c", script] });
  const hostPid = await server.hostPid();
  using socket = server.connect();
  using follower = Follower.attach(socket, id);
  await follower.shows(/ready/);
  killIfThere(hostPid, "SIGTERM");
  expect(await follower.exit()).toMatchObject({ exitCode: 7 });
  expect(follower.text).toContain("saved\r\n");
  await gone(hostPid);
  const next = await eventually(
    () => client.create({ command: ["cat"] }).catch(() => undefined),
    "another host",
  );
  expect(await server.hostPid()).not.toBe(hostPid);
  expect(await client.list()).toMatchObject([
    { id: next.id, status: "running" },
    { id, status: "exited", exitReason: "exit", exitCode: 7 },
  ]);
});

test("a request that came before the SIGTERM is answered, later ones find nobody", async () => {
  await using server = await TestServer.start({ asProcess: true, args: OPEN });
  const headers = { "content-type": "application/json", "content-length": 2 };
  const outgoing = request(`${server.url}/api/auth/token`, { method: "POST", headers, agent: false });
  const answered = headOf(outgoing);
  outgoing.write("{");
  await within(once(outgoing, "socket"), "the connection");
  // An answer on another connection: by now the server has seen the first half.
  await ask(server.url, "/api/health");
  const ended = server.kill("SIGTERM");
  await refusesConnections(Number(new URL(server.url).port));
  outgoing.end("}");
  const response = await within(answered, "the answer");
  expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([200, { expiresIn: 86_400 }]);
  expect(await ended).toEqual({ code: 0, signal: null });
});

test("a second SIGTERM ends it at once", async () => {
  await using server = await TestServer.start({ asProcess: true, args: OPEN });
  // A client that never answers the close delays the first one.
  const { socket } = await openSocket(server.url);
  if (socket === undefined) throw new Error("not let in");
  const { pid } = server;
  const ended = server.kill("SIGTERM");
  await within(received(socket, "the server is shutting down"), "the close");
  process.kill(pid, "SIGTERM");
  expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
  socket.destroy();
});

function within<T>(work: Promise<T>, what: string): Promise<T> {
  return withDeadline(work, PATIENCE_MS, what);
}

/** Resolves when the body has begun; with a promise of the error with which it aborts. */
async function openStream(url: string): Promise<{ readonly broken: Promise<unknown> }> {
  const outgoing = request(url, { agent: false }).end();
  const response = await within(headOf(outgoing), "the head of a stream");
  await within(once(response, "data"), "the start of a stream");
  const { promise, resolve } = Promise.withResolvers<unknown>();
  response.once("error", resolve);
  return { broken: within(promise, "the end of a stream") };
}

/** The socket stays open. */
async function received(socket: Duplex, words: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let all = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    all += chunk;
    if (all.includes(words)) resolve();
  });
  await promise;
}

async function refusesConnections(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const refused = await Promise.race([
      once(socket, "connect").then(() => false),
      once(socket, "error").then(() => true),
    ]).catch(() => true);
    socket.destroy();
    if (refused) return;
  }
}

test("plain HTTP beyond loopback is warned of at the start, and on loopback it is not", async () => {
  await using wide = await TestServer.start({ asProcess: true, args: [...OPEN, "--bind", "0.0.0.0"] });
  await wide.logged("plain HTTP");
  await using narrow = await TestServer.start({ asProcess: true, args: OPEN });
  await narrow.logged("server listening");
  expect(narrow.log).not.toContain("plain HTTP");
});
