// Answers about one session that come in another order than the questions were asked in.
import { expect, test } from "vitest";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { CreateSession, type SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { MemoryFleet, type MemoryMachine, settled } from "./memory-fleet.ts";

const statusesOf = async ({ fleet }: MemoryFleet): Promise<readonly string[]> =>
  (await fleet.list()).map(({ status }) => status);

/** Makes "new" with an answer that is held up. */
async function creating(
  hq: MemoryFleet,
  machine: MemoryMachine,
): Promise<{ readonly answered: Promise<SessionRecord>; readonly answer: () => void }> {
  const gate = Promise.withResolvers<void>();
  machine.creation = gate.promise;
  const answered = hq.fleet.create(CreateSession.parse({ id: "new", remoteId: "id-of-a" }));
  await settled();
  return { answered, answer: gate.resolve };
}

async function ended(machine: MemoryMachine, sessionId: string): Promise<void> {
  machine.sessions.get(sessionId)?.exit(0);
  machine.announce({ type: "session-exit", timestamp: "", sessionId });
  await settled();
}

test("of two answers the one that was asked for later counts, whichever comes first", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a", ["one"]);
  const gate = Promise.withResolvers<void>();
  machine.gate = gate.promise;
  const asked = hq.fleet.get("one");
  await settled();
  machine.gate = Promise.resolve();
  await ended(machine, "one");
  gate.resolve();
  expect((await asked).status).toBe("running");
  expect(await statusesOf(hq)).toEqual(["exited"]);
});

test("an answer that was asked for later, and is on its way, is taken after an earlier one", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a", ["one"]);
  const [earlier, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  machine.gate = earlier.promise;
  const asked = hq.fleet.get("one");
  await settled();
  machine.gate = later.promise;
  await ended(machine, "one");
  earlier.resolve();
  await asked;
  expect(await statusesOf(hq)).toEqual(["running"]);
  later.resolve();
  await settled();
  expect(await statusesOf(hq)).toEqual(["exited"]);
});

test("a session that ended before the answer to its making came has ended", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a");
  const { answered, answer } = await creating(hq, machine);
  await ended(machine, "new");
  answer();
  expect((await answered).status).toBe("running");
  expect(await statusesOf(hq)).toEqual(["exited"]);
});

test("a session that was removed before the answer to its making came is not there", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a");
  const { answered, answer } = await creating(hq, machine);
  await machine.remove("new");
  answer();
  await answered;
  expect(await hq.ids()).toEqual([]);
});

test("a session that was made after somebody asked for it is there, though the answer is that it is not", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a");
  const [search, event] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // That it was not made yet is what `search` says in the end.
  machine.add("one");
  machine.gate = search.promise;
  const asked = hq.fleet.get("one").catch((error: unknown) => error);
  await settled();
  machine.gate = event.promise;
  machine.announce({ type: "session-start", timestamp: "", sessionId: "one" });
  await settled();
  search.reject(new ServiceError("session_not_found", "no session one"));
  expect(await asked).toMatchObject({ code: "session_not_found" });
  event.resolve();
  await settled();
  expect(await hq.ids()).toEqual(["one"]);
});

test("who has seen a session's end finds it ended in the list", async () => {
  await using hq = await MemoryFleet.of();
  const machine = await hq.join("a", ["one"]);
  const seen: Promise<readonly string[]>[] = [];
  using _subscription = await hq.fleet.subscribe("one", () => seen.push(statusesOf(hq)));
  const { promise: never } = Promise.withResolvers<void>();
  // The machine says nothing more.
  machine.gate = never;
  machine.sessions.get("one")?.exit(0);
  expect(await Promise.all(seen)).toEqual([["exited"]]);
});
