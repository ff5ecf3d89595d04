import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL } from "../../../src/auth/roles.ts";
import { RequestMeter } from "../../../src/http/request-meter.ts";
import { createUpgrade, MAX_USER_SOCKETS, type Upgrade } from "../../../src/http/upgrade.ts";
import { Hub } from "../../../src/hub/hub.ts";
import { createLogger } from "../../../src/log.ts";
import { MemoryPeer, settled } from "../hub/memory-client.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";
import { until } from "../until.ts";

/** A socket that accepts writes on demand. */
class HeldSocket extends Duplex {
  readonly written: Buffer[] = [];
  #release: (() => void) | undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.written.push(chunk);
    this.#release = done;
  }

  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}

const WELCOME = `02${"00".repeat(4)}17000000${Buffer.from('{"ok":true,"version":3}').toString("hex")}`;

function upgradeOf(
  hub: Hub,
  meter?: RequestMeter,
  authenticate = async (): Promise<Principal> => ({ user: "me", rights: ALL, method: "none" }),
): Upgrade {
  return createUpgrade({
    ...{ hub, authenticate },
    whenOver: () => ({ [Symbol.dispose]() {} }),
    clientOf: () => ({ address: undefined, host: undefined, isHttps: false }),
    ...{ viewOf: undefined, policy: undefined, meter },
    log: createLogger({ level: "silent", destination: process.stderr }),
  });
}

const HANDSHAKE = {
  ...{ connection: "Upgrade", upgrade: "websocket" },
  ...{ "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13" },
};

async function serverOf(upgrade: Upgrade): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  server.on("upgrade", upgrade.handle);
  await once(server, "listening");
  return server;
}

function ask(server: Server, headers: Readonly<Record<string, string>>): Socket {
  const { port } = Object(server.address());
  const lines = Object.entries({ host: "a", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET /ws HTTP/1.1\r\n${lines.join("")}\r\n`);
  return socket;
}

/** Everything that the server sends until it closes the connection. */
async function answerOf(upgrade: Upgrade, headers: Readonly<Record<string, string>>): Promise<string> {
  await using server = await serverOf(upgrade);
  return await text(ask(server, headers));
}

test("a handshake that is none is refused as every request is, with the versions that are known", async () => {
  await using hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  const meter = new RequestMeter();
  const upgrade = upgradeOf(hub, meter);
  for (const wrong of [{ "sec-websocket-key": "short" }, { "sec-websocket-version": "7" }]) {
    const [head = "", body = ""] = (await answerOf(upgrade, { ...HANDSHAKE, ...wrong })).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(head).toContain("\r\nsec-websocket-version: 13, 8");
    expect(JSON.parse(body)).toMatchObject({
      code: "invalid_request",
      error: expect.stringMatching(/^this is no WebSocket handshake: .*Sec-WebSocket-(Key|Version)/),
    });
  }
  expect([...meter.requests]).toEqual([[{ endpoint: "/ws", method: "GET", status: "4xx" }, 2]]);
});

test("a client that cannot be connected after the 101 gets nothing else", async () => {
  const hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  hub[Symbol.dispose]();
  expect(await answerOf(upgradeOf(hub), HANDSHAKE)).toMatch(/^HTTP\/1\.1 101 (?:[^\r]*\r\n)*\r\n$/);
});

test("WELCOME comes in both byte orders, VT first, after the 101 has been flushed", async () => {
  await using hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  const upgrade = upgradeOf(hub);
  const socket = new HeldSocket();
  await using server = createServer().listen(0, "127.0.0.1");
  server.on("upgrade", (asked, connection, head) => {
    upgrade.handle(asked, socket, head);
    socket.once("close", () => connection.destroy());
  });
  await once(server, "listening");
  const { port } = Object(server.address());
  const asking = request({ port, path: "/ws", headers: HANDSHAKE }).on("error", () => {});
  asking.end();
  await until(() => socket.written.length === 1);
  await settled();
  expect(socket.written[0]?.toString()).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n$/);
  expect(socket.writableLength).toBe(socket.written[0]?.length);
  await until(() => {
    socket.release();
    return Buffer.concat(socket.written.slice(1)).length >= 2 * (2 + 12 + 23);
  });
  const frames = Buffer.concat(socket.written.slice(1)).toString("hex");
  expect(frames).toBe(`8223565403${WELCOME}8223545603${WELCOME}`);
  socket.destroy();
});

test("handshakes that are authenticated at the same moment do not exceed the connections of a user", async () => {
  await using hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  const who = { user: "me", kind: "login", address: undefined } as const;
  for (let count = 1; count < MAX_USER_SOCKETS; count++) hub.connect(new MemoryPeer(), who);
  const answer = Promise.withResolvers<Principal>();
  let asked = 0;
  const upgrade = upgradeOf(hub, undefined, async () => {
    asked += 1;
    return await answer.promise;
  });
  await using server = await serverOf(upgrade);
  const sockets = [ask(server, HANDSHAKE), ask(server, HANDSHAKE)];
  await until(() => asked === 2);
  answer.resolve({ user: "me", rights: ALL, method: "token" });
  const answers = await Promise.all(sockets.map((socket) => once(socket, "data")));
  for (const socket of sockets) socket.destroy();
  expect(answers.map(([bytes]) => `${bytes}`.slice(9, 12)).toSorted()).toEqual(["101", "429"]);
});
