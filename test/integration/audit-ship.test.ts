// The audit log at receivers: real sockets on this machine.
import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempDisposable, open, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { createClient } from "../../src/protocol/client/client.ts";
import { createSender } from "../../src/remote/send.ts";
import { AuditLog } from "./harness/audit-log.ts";
import { bestTime } from "./harness/best-time.ts";
import { ask } from "./harness/http.ts";
import { askAs, logIn, PASSWORD, passwordServer, TOKEN_SECRET, USERNAME } from "./harness/password-server.ts";
import { RedisServer } from "./harness/redis-server.ts";
import { MAIN, TestServer } from "./harness/test-server.ts";

const LOOPBACK = "127.0.0.1";
const MESSAGE = /^<(\d+)>1 (\S+) (\S+) ttyhq (\d+) (\S+) - (\{.*\})$/;

/** A receiver of lines: its address for --audit-ship, and the received lines. */
type Receiver = AsyncDisposable & { readonly where: string; readonly got: string[] };

async function udpReceiver(): Promise<Receiver> {
  const got: string[] = [];
  const socket = createSocket("udp4", (bytes) => void got.push(bytes.toString())).bind(0, LOOPBACK);
  await once(socket, "listening");
  const where = `syslog+udp://${LOOPBACK}:${socket.address().port}`;
  return { where, got, [Symbol.asyncDispose]: async () => void socket.close() };
}

/** Splits messages by their lengths (RFC 6587). */
async function tcpReceiver(): Promise<Receiver> {
  const got: string[] = [];
  const server = createServer(async (socket) => {
    let bytes = Buffer.alloc(0);
    for await (const chunk of socket) {
      bytes = Buffer.concat([bytes, chunk]);
      for (let space = bytes.indexOf(" "); space !== -1; space = bytes.indexOf(" ")) {
        const end = space + 1 + Number(bytes.subarray(0, space));
        if (bytes.length < end) break;
        got.push(bytes.subarray(space + 1, end).toString());
        bytes = bytes.subarray(end);
      }
    }
  }).listen(0, LOOPBACK);
  await once(server, "listening");
  return {
    where: `syslog+tcp://${LOOPBACK}:${portOf(server)}`,
    got,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Node has no unix datagram sockets. */
async function unixReceiver(path: string): Promise<Receiver> {
  const program = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("bound", flush=True)
while True: print(receiver.recv(65536).decode(), flush=True)`;
  const child = spawn("python3", ["-c", program, path], { stdio: ["ignore", "pipe", "inherit"] });
  const got: string[] = [];
  const lines = createInterface(child.stdout);
  await once(lines, "line");
  lines.on("line", (line) => void got.push(line));
  const stop = async () => {
    child.kill();
    await once(child, "exit");
  };
  return { where: `syslog:${path}`, got, [Symbol.asyncDispose]: stop };
}

/** `answer`: the status for a request, `undefined` for no answer. */
async function httpReceiver(answer: (request: IncomingMessage) => number | undefined): Promise<Receiver> {
  const got: string[] = [];
  const server = createHttpServer(async (request, response) => {
    const body = await text(request);
    const status = answer(request);
    if (status === 200) got.push(...body.split("\n").filter(Boolean));
    if (status !== undefined) response.writeHead(status).end();
  }).listen(0, LOOPBACK);
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { where: `http://${LOOPBACK}:${portOf(server)}/audit`, got, [Symbol.asyncDispose]: stop };
}

function portOf(server: { address(): AddressInfo | string | null }): number {
  return Object(server.address()).port;
}

test("every receiver gets each line as it was written, in its order", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-ship-"));
  await using udp = await udpReceiver();
  await using tcp = await tcpReceiver();
  await using unix = await unixReceiver(join(folder.path, "log"));
  const seen: IncomingMessage["headers"][] = [];
  await using http = await httpReceiver(({ headers }) => {
    // The first time it is busy.
    return seen.push(headers) === 1 ? 503 : 200;
  });
  const header = join(folder.path, "header");
  await writeFile(header, "Authorization: Bearer s3cret\nX-Tenant: ops\n", { mode: 0o600 });
  const receivers = [udp, tcp, unix, http];
  const args = receivers.flatMap(({ where }) => ["--audit-ship", where]);
  await using server = await passwordServer("inline", {
    asProcess: true,
    args: [...args, "--audit-ship-header-file", header],
  });
  const token = await logIn(server);
  await ask(server.url, "/api/auth/token", { body: { password: "wrong" } });
  await askAs(token, server, "/api/sessions", { body: { command: ["true"], name: "Grüße" } });
  await new AuditLog(server.controlDir).of("session.create");
  await server.kill("SIGTERM");
  const written = (await new AuditLog(server.controlDir).text()).trimEnd().split("\n");
  expect(written.length).toBeGreaterThan(4);
  const all = ({ got }: Receiver) =>
    eventually(async () => got.length >= written.length || undefined, "all lines");
  await Promise.all(receivers.map(all));
  expect(http.got).toEqual(written);
  for (const { got } of [udp, tcp, unix]) {
    expect(got.map((message) => MESSAGE.exec(message)?.[6])).toEqual(written);
    expect(got.map((message) => MESSAGE.exec(message)?.[5])).toContain("session.create");
  }
  expect(seen.at(-1)).toMatchObject({
    ...{ authorization: "Bearer s3cret", "x-tenant": "ops", "content-type": "application/x-ndjson" },
  });
  expect(server.log).not.toContain("s3cret");
});

test("dead, unresponsive or slow receivers delay neither the server, the file, nor the shutdown", async () => {
  await using mute = await httpReceiver(() => undefined);
  await using refusing = await httpReceiver(() => 500);
  // The system accepts connections, and nobody reads from them.
  await using deaf = await (async () => {
    const server = createServer((socket) => void socket.pause()).listen(0, LOOPBACK);
    await once(server, "listening");
    return {
      where: `syslog+tcp://${LOOPBACK}:${portOf(server)}`,
      [Symbol.asyncDispose]: async () => void server.close(),
    };
  })();
  const where = [
    mute.where,
    refusing.where,
    deaf.where,
    "syslog:/no/such/socket",
    "syslog+tcp://127.0.0.1:1",
  ];
  await using server = await passwordServer("inline", {
    asProcess: true,
    args: where.flatMap((each) => ["--audit-ship", each]),
  });
  const token = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["cat"] } });
  const calls = async (): Promise<number> => {
    const start = performance.now();
    for (let count = 0; count < 200; count++) {
      const body = { name: `name ${count}` };
      const { status } = await askAs(token, server, `/api/sessions/${json.id}`, { method: "PATCH", body });
      expect(status).toBe(200);
    }
    return performance.now() - start;
  };
  expect(await bestTime(10_000, calls)).toBeLessThan(10_000);
  const audit = new AuditLog(server.controlDir);
  await audit.line(({ details }) => details?.name === "name 199", "the last one");
  await server.kill("SIGTERM");
  const told = server.log.split("\n").filter((line) => line.includes("audit"));
  const messages = told
    .map((line) => JSON.parse(line))
    .filter(({ message }) => message === "audit lines not shipped");
  expect(messages.map(({ receiver }) => receiver)).toEqual(
    expect.arrayContaining(["syslog:/no/such/socket"]),
  );
});

test("several receivers that take nothing delay a stop once", async () => {
  await using mute = await httpReceiver(() => undefined);
  await using refusing = await httpReceiver(() => 500);
  const where = [mute.where, refusing.where, "syslog:/no/such/socket", "syslog+tcp://127.0.0.1:1"];
  const stop = async (): Promise<number> => {
    await using server = await passwordServer("inline", {
      asProcess: true,
      args: where.flatMap((each) => ["--audit-ship", each]),
    });
    const start = performance.now();
    await server.kill("SIGTERM");
    return performance.now() - start;
  };
  // Each has 2 s.
  expect(await bestTime(7_000, stop)).toBeLessThan(7_000);
});

test("lines go to standard output, and one that nobody reads holds nothing up", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-ship-"));
  const options = ["--port", "0", "--bind", LOOPBACK, "--session-host", "inline", "--rate-limit-api", "0"];
  const child = spawn(
    process.execPath,
    [MAIN, "serve", "--json", ...options, "--audit-ship", "stdout", "--control-dir", join(folder.path, "c")],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, SERVICE_USERNAME: USERNAME, SERVICE_PASSWORD: PASSWORD },
    },
  );
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value ?? "");
    const [first, second] = [await next(), await next()];
    const { url } = [first, second].find(({ event }) => event === "listening");
    expect([first, second]).toContainEqual(expect.objectContaining({ seq: 1, action: "server.start" }));
    child.stdout.pause();
    const { json } = await ask(url, "/api/auth/token", { body: { password: PASSWORD } });
    const headers = { authorization: `Bearer ${json.token}` };
    const session = await ask(url, "/api/sessions", { headers, body: { command: ["cat"] } });
    // More than the 64 KiB of a pipe.
    for (let count = 0; count < 400; count++) {
      const body = { name: "n".repeat(240) };
      expect(
        (await ask(url, `/api/sessions/${session.json.id}`, { method: "PATCH", headers, body })).status,
      ).toBe(200);
    }
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a full pipe that nobody reads does not keep a server from stopping", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-ship-"));
  const controlDir = join(folder.path, "c");
  const fifo = join(folder.path, "fifo");
  await promisify(execFile)("mkfifo", [fifo]);
  // Open on both sides, and never read.
  await using pipe = await open(fifo, "r+");
  const options = ["--port", "0", "--bind", LOOPBACK, "--session-host", "inline", "--login-link"];
  // More than a pipe and the stream before it hold, as a burst of audit lines is.
  const fill = "--import=data:text/javascript,process.stdout.write('x'.repeat(1e6))";
  const child = spawn(
    process.execPath,
    [fill, MAIN, "serve", ...options, "--audit-ship", "stdout", "--control-dir", controlDir],
    { stdio: ["ignore", pipe.fd, "ignore"] },
  );
  try {
    const client = createClient(createSender({ socketPath: join(controlDir, "server.sock") }).send);
    await eventually(() => client.health().catch(() => undefined), "the server");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("HQs that share a registry send their audit logs to one receiver, which can distinguish them", async () => {
  await using redis = await RedisServer.start();
  await using receiver = await tcpReceiver();
  const args = ["--hq", "--audit-ship", receiver.where];
  const env = {
    ...{ TTYHQ_USERNAME: USERNAME, TTYHQ_PASSWORD: PASSWORD },
    ...{ TTYHQ_REGISTRY_URL: redis.url, TTYHQ_JWT_SECRET: TOKEN_SECRET },
  };
  await using one = await TestServer.start({ asProcess: true, args, env });
  await using other = await TestServer.start({ asProcess: true, args, env });
  const login = await logIn(one);
  // The login of one HQ is used, and ends, at the other.
  expect((await askAs(login, other, "/api/auth/logout", { method: "POST" })).status).toBe(200);
  const pids = [(await one.client().health()).pid, (await other.client().health()).pid];
  const actions = (pid: number): readonly string[] =>
    receiver.got.flatMap((line) => {
      const [, , , , from, action] = MESSAGE.exec(line) ?? [];
      return Number(from) === pid ? [action ?? ""] : [];
    });
  const received = async () => {
    const [ofOne = [], ofOther = []] = pids.map(actions);
    return (ofOne.includes("login") && ofOther.includes("logout")) || undefined;
  };
  await eventually(received, "a line of each HQ");
});
