import { once } from "node:events";
import { createServer, request } from "node:http";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL } from "../../../src/auth/roles.ts";
import { createUpgrade } from "../../../src/http/upgrade.ts";
import { Hub } from "../../../src/hub/hub.ts";
import { createLogger } from "../../../src/log.ts";
import { settled } from "../hub/memory-client.ts";
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

function upgradeOf(hub: Hub) {
  const principal: Principal = { user: "me", rights: ALL, method: "none" };
  return createUpgrade({
    hub,
    authenticate: async () => principal,
    whenOver: () => ({ [Symbol.dispose]() {} }),
    clientOf: () => ({ address: undefined, host: undefined, isHttps: false }),
    ...{ viewOf: undefined, policy: undefined },
    log: createLogger({ level: "silent", destination: process.stderr }),
  });
}

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
  const headers = { connection: "Upgrade", upgrade: "websocket" };
  const key = { "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13" };
  const asking = request({ port, path: "/ws", headers: { ...headers, ...key } }).on("error", () => {});
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
