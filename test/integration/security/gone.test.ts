// Clients that leave before their answer: only their own connection ends.
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { Listener } from "../../../src/http/listener.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { ask } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { openConnection } from "../harness/raw-request.ts";

test("a client that requests an upgrade and resets the connection early ends nothing", async () => {
  const asked = Promise.withResolvers<Duplex>();
  await using listener = await Listener.open(
    { host: "127.0.0.1", port: 0 },
    {
      request: (_, response) => response.end("ok"),
      upgrade: { handle: (_, socket) => asked.resolve(socket), close: () => {} },
    },
  );
  const url = `http://127.0.0.1:${listener.port}`;
  const client = await openConnection(url);
  client.write("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const socket = await withDeadline(asked.promise, PATIENCE_MS, "the upgrade");
  const closed = Promise.withResolvers<void>();
  // Without `once` of node:events, which would listen for errors, too.
  socket.once("close", () => closed.resolve());
  client.resetAndDestroy();
  await withDeadline(closed.promise, PATIENCE_MS, "the end of the connection");
  expect((await ask(url, "/")).text).toBe("ok");
});
