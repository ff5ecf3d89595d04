// Contract 1.9, over real connections and with a shorter interval.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { serveHub } from "../harness/hub-server.ts";
import { PATIENCE_MS } from "../harness/patience.ts";

const PING_INTERVAL_MS = 100;

/** A client that completes the handshake and then does nothing, like one on a sleeping machine. */
async function silent(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  const head = ["GET /ws HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"];
  const key = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="];
  socket.write(`${[...head, ...key].join("\r\n")}\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

test("a client that answers no ping is dropped after two of them", async () => {
  await using server = await serveHub({ pingIntervalMs: PING_INTERVAL_MS });
  const started = performance.now();
  const socket = await silent(server.port);
  socket.resume();
  expect(server.hub.clients.length).toBe(1);
  await withDeadline(once(socket, "close"), PATIENCE_MS, "the end of the connection");
  expect(performance.now() - started).toBeGreaterThan(2 * PING_INTERVAL_MS);
  await eventually(async () => server.hub.clients.length === 0 || undefined, "the end of the client");
});

test("a client that answers the pings, or sends its own, or frames, stays", async () => {
  await using server = await serveHub({ pingIntervalMs: PING_INTERVAL_MS });
  const url = `ws://127.0.0.1:${server.port}/ws`;
  const answering = new WebSocket(url);
  const pinging = new WebSocket(url, { autoPong: false });
  const talking = new WebSocket(url, { autoPong: false });
  const clients = [answering, pinging, talking];
  await Promise.all(clients.map((client) => once(client, "open")));
  pinging.on("ping", () => pinging.ping());
  talking.on("ping", () => talking.send(encodeFrame(FrameType.PING, "", new Uint8Array())));
  for (let pings = 0; pings < 6; pings++) {
    await withDeadline(Promise.all(clients.map((client) => once(client, "ping"))), PATIENCE_MS, "a ping");
  }
  expect(server.hub.clients.length).toBe(3);
  for (const client of clients) client.terminate();
});
