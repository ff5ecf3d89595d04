// Both ends of a tunnel in one process, over a pair of streams.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { type Duplex, duplexPair, Readable } from "node:stream";
import { expect, test } from "vitest";
import { OutboundTunnel } from "../../../src/hq/joining/outbound-tunnel.ts";
import { Tunnels } from "../../../src/hq/tunnels.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import type { ClientResponse } from "../../../src/protocol/client/send.ts";
import { DIALLED_URL } from "../../../src/protocol/schemas/remote.ts";
import { createSender } from "../../../src/remote/send.ts";
import { joinStreams, Tunnel } from "../../../src/remote/tunnel.ts";
import { until } from "../until.ts";

const MIB = 1024 * 1024;
const SILENT = { info: () => {}, warn: () => {} };

/** Both ends of a tunnel, over a network that takes a turn of the event loop. */
function pair(accept: (connection: Duplex) => void): { readonly near: Tunnel; readonly far: Tunnel } {
  const ends: Tunnel[] = [];
  const to = (end: number) => ({
    send: (message: Uint8Array, onSent: () => void) =>
      void setImmediate(() => {
        ends[end]?.received(message);
        onSent();
      }),
    terminate: () => ends[end]?.lost(),
  });
  const [near, far] = [new Tunnel(to(1)), new Tunnel(to(0), accept)];
  ends.push(near, far);
  return { near, far };
}

/** A tunnel of the remote "a"; `server`: the connections as they arrive there. */
function tunnelTo(tunnels: Tunnels): {
  readonly server: Duplex[];
  readonly near: Tunnel;
  readonly far: Tunnel;
} {
  const server: Duplex[] = [];
  const ends = pair((connection) => server.push(connection));
  tunnels.accept("a", ends.near);
  return { server, ...ends };
}

async function textOf(stream: Duplex): Promise<string> {
  const [bytes] = await once(stream, "data");
  return `${bytes}`;
}

test("each connection carries bytes and ends in both directions independently", async () => {
  using tunnels = new Tunnels();
  const { server } = tunnelTo(tunnels);
  const [one, other] = [await tunnels.connect("a"), await tunnels.connect("a")];
  one.write("one");
  await until(() => server.length >= 1);
  other.write("other");
  await until(() => server.length >= 2);
  expect(await Promise.all(server.map(textOf))).toEqual(["one", "other"]);
  server[1]?.write("to the other");
  expect(await textOf(other)).toBe("to the other");
  one.end();
  await until(() => server[0]?.readableEnded === true);
  server[0]?.end("last words");
  expect(await textOf(one)).toBe("last words");
  await until(() => one.closed && server[0]?.closed === true);
  expect(one.errored ?? server[0]?.errored).toBeNull();
});

test("an unread connection does not delay others and takes bounded memory", async () => {
  using tunnels = new Tunnels();
  const { server } = tunnelTo(tunnels);
  const flooded = await tunnels.connect("a");
  flooded.write("begin");
  await until(() => server.length >= 1);
  let sent = 0;
  const flood = new Readable({
    read() {
      sent += MIB;
      this.push(Buffer.alloc(MIB));
    },
  });
  flood.pipe(server[0] ?? flooded);
  const shell = await tunnels.connect("a");
  shell.write("ls");
  await until(() => server.length >= 2);
  for (let round = 0; round < 20; round += 1) {
    server[1]?.write(`echo ${round}`);
    expect(await textOf(shell)).toBe(`echo ${round}`);
  }
  // The window of the stream, and what the streams on the way hold.
  expect(sent).toBeLessThan(8 * MIB);
  flood.destroy();
});

test("each request uses its own connection through the tunnel, which is closed afterwards", async () => {
  await using server = createServer((request, response) => {
    if (request.url === "/endless") response.write("begin");
    else request.pipe(response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = Object(server.address());
  const connections: Duplex[] = [];
  const { near } = pair((connection) => {
    const socket = connect(port, "127.0.0.1");
    joinStreams(connection, socket);
    connections.push(connection, socket);
  });
  using tunnels = new Tunnels();
  tunnels.accept("a", near);
  using sender = createSender({
    url: DIALLED_URL,
    headers: {},
    tunnel: {
      remoteId: "a",
      connect: async (id) => {
        const connection = await tunnels.connect(id);
        connections.push(connection);
        return connection;
      },
    },
  });
  const ask = (path: string, signal: AbortSignal): Promise<ClientResponse> =>
    sender.send({ method: "POST", path, headers: {}, body: "hello", signal });
  for (let round = 0; round < 3; round += 1) {
    const { status, body } = await ask("/", new AbortController().signal);
    const bytes = await collectBytes(body, MIB);
    expect([status, new TextDecoder().decode(bytes)]).toEqual([200, "hello"]);
  }
  const abort = new AbortController();
  const { body } = await ask("/endless", abort.signal);
  await body[Symbol.asyncIterator]().next();
  abort.abort();
  await until(() => connections.length === 12 && connections.every(({ closed }) => closed));
});

test("a slow reader gets the whole answer although its server closes at once", async () => {
  using tunnels = new Tunnels();
  const [inside, server] = duplexPair();
  const { near } = pair((connection) => joinStreams(connection, inside));
  tunnels.accept("a", near);
  const connection = await tunnels.connect("a");
  connection.write("give me three MiB, and more of this will come");
  server.end(Buffer.alloc(3 * MIB));
  server.resume();
  // As a socket does whose other side is gone.
  inside.once("end", () => inside.destroy());
  let length = 0;
  for await (const chunk of connection) {
    length += chunk.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(length).toBe(3 * MIB);
});

test("an empty write does not delay later ones", async () => {
  using tunnels = new Tunnels();
  const { server } = tunnelTo(tunnels);
  const connection = await tunnels.connect("a");
  connection.write("");
  connection.write("hello");
  await until(() => server.length >= 1);
  expect(await textOf(server[0] ?? connection)).toBe("hello");
});

test("a connection waits for a missing tunnel for a limited time", async () => {
  using tunnels = new Tunnels();
  const waiting = tunnels.connect("a");
  const { server } = tunnelTo(tunnels);
  (await waiting).write("hello");
  await until(() => server.length >= 1);
  await expect(tunnels.connect("b")).rejects.toThrow("it has no tunnel to this HQ");
});

test("the connections of a tunnel end with it, and those of its successor stay open", async () => {
  using tunnels = new Tunnels();
  const { server } = tunnelTo(tunnels);
  const before = await tunnels.connect("a");
  before.write("hello");
  await until(() => server.length >= 1);
  const successor = tunnelTo(tunnels);
  await until(() => [before, ...server].every(({ closed }) => closed));
  (await tunnels.connect("a")).write("hello again");
  await until(() => successor.server.length >= 1);
  expect(await textOf(successor.server[0] ?? before)).toBe("hello again");
});

test("a remote dials again after a cut, at once if the HQ is known to answer", async () => {
  using tunnels = new Tunnels();
  const dialled: Tunnel[] = [];
  let isAway = false;
  let tries = 0;
  await using outbound = new OutboundTunnel({
    dial: async () => {
      tries += 1;
      if (isAway) throw new Error("away");
      const { near, far } = pair(() => {});
      dialled.push(far);
      tunnels.accept("a", near);
      return { tunnel: far, ping: async () => {} };
    },
    log: SILENT,
    random: () => 0,
  });
  await until(() => dialled.length === 1);
  isAway = true;
  dialled[0]?.close();
  await until(() => tries === 3);
  isAway = false;
  outbound.wake();
  await until(() => dialled.length === 2);
  await tunnels.connect("a");
});

test.each([
  ["a message without a head", [2, 0]],
  ["a kind that there is not", [9, 1, 0, 0, 0]],
  ["a connection that the remote opens", [1, 9, 0, 0, 0]],
  ["more credit than the window", [5, 1, 0, 0, 0, 255, 255, 255, 255]],
])("a remote that sends %s loses its tunnel", async (_, message) => {
  using tunnels = new Tunnels();
  const { near } = tunnelTo(tunnels);
  const connection = await tunnels.connect("a");
  near.received(Uint8Array.from(message));
  await near.closed;
  expect(connection.destroyed).toBe(true);
});

test("a remote that sends more than the window of a connection loses its tunnel", async () => {
  using tunnels = new Tunnels();
  const { near } = tunnelTo(tunnels);
  await tunnels.connect("a");
  const message = new Uint8Array(5 + MIB + 1);
  message.set([2, 1, 0, 0, 0]);
  near.received(message);
  await near.closed;
});
