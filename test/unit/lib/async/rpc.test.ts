import { once } from "node:events";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { z } from "zod";
import { event, method, RpcPeer } from "../../../../src/lib/async/rpc.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const DOUBLE = method("double", z.number(), z.number());
const WAIT = method("wait", z.null(), z.undefined());
const NOTE = event("note", z.string());
const MAX_LENGTH = 1_000;

function pair() {
  const [one, other] = duplexPair();
  return { client: new RpcPeer(one, MAX_LENGTH), server: new RpcPeer(other, MAX_LENGTH), one, other };
}

test("calls of both sides are answered at the same time, each with its own answer", async () => {
  const { client, server } = pair();
  for (const peer of [client, server]) peer.serve(DOUBLE, async (number) => 2 * number);
  const answers = [client.call(DOUBLE, 1), server.call(DOUBLE, 2), client.call(DOUBLE, 3)];
  expect(await Promise.all(answers)).toEqual([2, 4, 6]);
  expect([client.isBusy, server.isBusy]).toEqual([false, false]);
});

test("an error fails its call only, whether it is thrown at once or later", async () => {
  const { client, server } = pair();
  server.serve(DOUBLE, (number) => {
    if (number < 0) throw new ServiceError("invalid_request", "negative", { details: { number } });
    throw new TypeError("odd");
  });
  server.serve(WAIT, async () => undefined);
  await expect(client.call(DOUBLE, -1)).rejects.toMatchObject({
    ...{ code: "invalid_request", message: "negative", details: { number: -1 } },
  });
  await expect(client.call(DOUBLE, 1)).rejects.toMatchObject({
    ...{ code: "internal_error", message: expect.stringContaining("TypeError: odd") },
  });
  expect(await client.call(WAIT, null)).toBeUndefined();
});

test("an aborted call fails at once, and the other side learns of it", async () => {
  const { client, server } = pair();
  const begun = Promise.withResolvers<AbortSignal>();
  server.serve(WAIT, async (_, signal) => {
    begun.resolve(signal);
    await once(signal, "abort");
  });
  const caller = new AbortController();
  const call = client.call(WAIT, null, caller.signal);
  const signal = await begun.promise;
  caller.abort(new Error("gone"));
  await expect(call).rejects.toThrow("gone");
  await expect.poll(() => signal.aborted).toBe(true);
});

test("calls fail with the reason of the end, also later ones", async () => {
  const { client, server } = pair();
  server.serve(WAIT, () => new Promise<undefined>(() => {}));
  const pending = client.call(WAIT, null);
  const reason = new ServiceError("git_failed", "over");
  client.close(reason);
  await expect(pending).rejects.toBe(reason);
  await expect(client.call(WAIT, null)).rejects.toBe(reason);
});

test("events arrive in order, before a later call", async () => {
  const { client, server } = pair();
  const notes: string[] = [];
  server.serve(NOTE, (note) => void notes.push(note));
  server.serve(WAIT, async () => undefined);
  for (const note of ["a", "b\n", "ü"]) client.emit(NOTE, note);
  await client.call(WAIT, null);
  expect(notes).toEqual(["a", "b\n", "ü"]);
});

test.each([
  ["a method that nobody serves", { method: "root", input: 1 }],
  ["a wrong input", { method: "double", input: "1", id: 1 }],
  ["a wrong answer", { id: 1, answer: "2" }],
  ["an unknown kind", { type: "call" }],
  ["too long a text", { method: "note", input: "x".repeat(MAX_LENGTH) }],
])("%s ends the stream", async (_, message) => {
  const { server, other, one } = pair();
  server.serve(DOUBLE, (number) => 2 * number);
  server.serve(NOTE, () => expect.unreachable());
  const call = server.call(DOUBLE, 1);
  one.write(`${JSON.stringify(message)}\n`);
  await expect.poll(() => other.destroyed).toBe(true);
  server.close(new ServiceError("git_failed", "over"));
  await expect(call).rejects.toMatchObject({ code: "git_failed" });
});

test.each([
  ["at once", () => expect.unreachable()],
  ["later", () => Promise.reject(new Error("odd"))],
])("an event whose handling fails %s ends the stream", async (_, fail) => {
  const { client, server, other } = pair();
  server.serve(WAIT, fail);
  client.emit(WAIT, null);
  await expect(once(other, "close")).rejects.toThrow();
  expect(other.destroyed).toBe(true);
});
