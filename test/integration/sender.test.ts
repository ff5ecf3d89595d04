// Requests to another process, over a connection that fails.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { expect, test } from "vitest";
import { collectBytes } from "../../src/lib/data/collect.ts";
import { createCaller } from "../../src/protocol/client/caller.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { createSender } from "../../src/remote/send.ts";
import { PATIENCE_MS } from "./harness/patience.ts";

/** Of a listening server. */
async function urlOf(server: Server): Promise<string> {
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

test("an incomplete answer counts as none: its sender is unreachable", async () => {
  await using server = createServer((_, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("[", () => response.destroy());
  }).listen(0, "127.0.0.1");
  using sender = createSender({ url: await urlOf(server), headers: {} });
  const caller = createCaller(sender.send);
  await expect(caller.call(endpoints.listSessions)).rejects.toMatchObject({ code: "host_unreachable" });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const input = { params: { id: "a" }, query: { from: 0 } };
  const { body } = await caller.stream(endpoints.sessionOutput, input, signal);
  await expect(collectBytes(body, 100)).rejects.toMatchObject({ code: "host_unreachable" });
});

test("pending requests of a disposed sender are not repeated", async () => {
  let questions = 0;
  const silent = Promise.withResolvers<void>();
  await using server = createServer((_, response) => {
    questions += 1;
    if (questions === 1) response.end("[]");
    else silent.resolve();
  }).listen(0, "127.0.0.1");
  const sender = createSender({ url: await urlOf(server), headers: {} });
  const caller = createCaller(sender.send);
  await caller.call(endpoints.listSessions);
  // Over the same connection.
  const asking = caller.call(endpoints.listSessions);
  await silent.promise;
  sender[Symbol.dispose]();
  await expect(asking).rejects.toMatchObject({
    code: "host_unreachable",
    message: expect.stringMatching(/^no answer: /),
  });
  expect(questions).toBe(2);
});

test("only idempotent requests are repeated if a kept connection was closed", async () => {
  const asked: (string | undefined)[] = [];
  await using server = createServer((request, response) => {
    asked.push(request.method);
    if (asked.length === 2) request.socket.destroy();
    else response.end('{"success":true}');
  }).listen(0, "127.0.0.1");
  const url = await urlOf(server);
  const { removeRemote, createJoinToken, deleteSession } = endpoints;
  const calls = { DELETE: removeRemote, POST: createJoinToken, end: deleteSession } as const;
  const over = async (endpoint: (typeof calls)[keyof typeof calls]): Promise<unknown> => {
    asked.length = 0;
    using sender = createSender({ url, headers: {} });
    const caller = createCaller(sender.send);
    await caller.bytes(endpoints.removeRemote, { params: { id: "a" } });
    return await caller.bytes(endpoint, { params: { id: "a" } }).then(String, ({ code }) => code);
  };
  expect(await over(calls.DELETE)).toBe('{"success":true}');
  expect(asked).toEqual(["DELETE", "DELETE", "DELETE"]);
  expect(await over(calls.POST)).toBe("host_unreachable");
  expect(asked).toEqual(["DELETE", "POST"]);
  // The first one ends the session, a second one removes its recording.
  expect(await over(calls.end)).toBe("host_unreachable");
  expect(asked).toEqual(["DELETE", "DELETE"]);
});
