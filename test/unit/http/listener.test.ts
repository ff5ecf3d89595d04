import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { Listener } from "../../../src/http/listener.ts";
import { sendMedia } from "../../../src/http/reply.ts";
import { noUpgrade } from "../../../src/http/upgrade.ts";
import { until } from "../until.ts";

/** A listener whose answers are held, by path. */
async function held(limits: Parameters<typeof Listener.open>[3] = {}) {
  const begun = new Map<string, ServerResponse>();
  const listener = await Listener.open(
    { host: "127.0.0.1", port: 0 },
    {
      request: ({ url = "" }, response) => void begun.set(url, response),
      upgrade: noUpgrade,
    },
    undefined,
    limits,
  );
  return {
    begun,
    stop: (graceMs: number) => listener.stop(graceMs),
    /** A connection on which these paths are asked for, all at once. */
    asked: async (...paths: readonly string[]): Promise<Socket> => {
      const socket = connect(listener.port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""));
      return socket;
    },
    [Symbol.asyncDispose]: async () => void (await listener.stop(0)),
  };
}

test("a request that is sent before the last answer begins after it", async () => {
  await using listener = await held();
  const { begun } = listener;
  const socket = await listener.asked("/1", "/2", "/3");
  await until(() => begun.size > 0);
  expect([...begun.keys()]).toEqual(["/1"]);
  begun.get("/1")?.end("one");
  await until(() => begun.size > 1);
  expect([...begun.keys()]).toEqual(["/1", "/2"]);
  begun.get("/2")?.end("two");
  await until(() => begun.size > 2);
  begun.get("/3")?.setHeader("connection", "close").end("three");
  expect((await text(socket)).match(/one|two|three/g)).toEqual(["one", "two", "three"]);
});

test("a connection with more requests than may wait is closed, and those of others begin", async () => {
  await using listener = await held({ maxWaiting: 10 });
  const { begun } = listener;
  const flood = await listener.asked(...Array.from({ length: 12 }, (_, index) => `/flood/${index}`));
  await once(flood.resume(), "close");
  expect([...begun.keys()]).toEqual(["/flood/0"]);
  const other = await listener.asked("/1", "/2");
  await until(() => begun.has("/1"));
  begun.get("/1")?.end();
  await until(() => begun.has("/2"));
  other.destroy();
});

test("a stream that begins after the stop began does not delay it", async () => {
  await using listener = await held();
  const socket = await listener.asked("/stream");
  await until(() => listener.begun.has("/stream"));
  const stopped = listener.stop(3_600_000);
  const response = listener.begun.get("/stream");
  if (response === undefined) throw new Error("the request has not begun");
  const body = (async function* () {
    yield new Uint8Array([1]);
    await once(response, "close");
  })();
  const sent = sendMedia(response, 200, { type: "text/event-stream", body }).catch(() => "cut off");
  expect(await stopped).toEqual({ broken: 0 });
  expect(await sent).toBe("cut off");
  socket.destroy();
});
