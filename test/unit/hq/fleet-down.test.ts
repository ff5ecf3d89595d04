// After the removal of a remote that did not answer, its sessions are not reported as missing for a while.
import { expect, test } from "vitest";
import { DOWN_REMOTE_MEMORY_MS } from "../../../src/protocol/limits.ts";
import { MemoryFleet, settled } from "./memory-fleet.ts";
import { expire, MemoryStore, registration } from "./memory-store.ts";

/** Of a question after that session, the code, or `success`. */
const codeOf = (hq: MemoryFleet, sessionId: string): Promise<unknown> =>
  hq.fleet.get(sessionId).then(
    () => "success",
    (error: { code?: unknown }) => error.code,
  );

function stoppedClock() {
  const clock = { ms: Date.parse("2026-01-01T00:00:00.000Z") };
  return { clock, now: () => new Date(clock.ms) };
}

test("an unknown session is unreachable while a remote went down lately, and later not found", async () => {
  const { clock, now } = stoppedClock();
  await using hq = await MemoryFleet.of({ now });
  await hq.join("a", ["one"]);
  await hq.join("b", ["two"]);
  await expire(hq.registry, "a");
  clock.ms += 12_000;
  await expect(hq.fleet.get("one")).rejects.toMatchObject({
    code: "remote_unreachable",
    message: "remote a stopped answering 12 s ago and may have session one: try again in a moment",
  });
  expect(await codeOf(hq, "two")).toBe("success");
  clock.ms += DOWN_REMOTE_MEMORY_MS - 12_000;
  expect(await codeOf(hq, "one")).toBe("session_not_found");
});

test("the error names the remote that went down last and counts the others", async () => {
  const { now } = stoppedClock();
  await using hq = await MemoryFleet.of({ now });
  for (const name of ["a", "b", "c"]) await hq.join(name);
  for (const name of ["b", "c", "a"]) await expire(hq.registry, name);
  await expect(hq.fleet.get("one")).rejects.toThrow(
    "remote a stopped answering 0 s ago (as did 2 others) and may",
  );
});

test("a session that its own remote no longer has is not found, even while another remote is down", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a");
  const remote = await hq.join("b", ["two"]);
  await expire(hq.registry, "a");
  remote.sessions.delete("two");
  expect(await codeOf(hq, "two")).toBe("session_not_found");
});

test("after a restart of the HQ a viewer gets remote_unreachable until the remote is back", async () => {
  const store = new MemoryStore();
  const { now } = stoppedClock();
  {
    await using before = await MemoryFleet.of({ store, now });
    await before.join("a", ["one"]);
    await expire(before.registry, "a");
  }
  await using hq = await MemoryFleet.of({ store, now });
  expect(await codeOf(hq, "one")).toBe("remote_unreachable");
  await hq.join("a", ["one"]);
  expect(await codeOf(hq, "one")).toBe("success");
  expect(await codeOf(hq, "nobody")).toBe("session_not_found");
});

test("a viewer that lost its connection when the remote was removed finds its session again", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["one"]);
  const subscription = await hq.fleet.subscribe("one", () => {});
  await expire(hq.registry, "a");
  subscription[Symbol.dispose]();
  await expect(hq.fleet.subscribe("one", () => {})).rejects.toMatchObject({ code: "remote_unreachable" });
  await expect(hq.fleet.write("one", new Uint8Array(1))).rejects.toMatchObject({
    code: "remote_unreachable",
  });
  await hq.join("a");
  await settled();
  (await hq.fleet.subscribe("one", () => {}))[Symbol.dispose]();
});

test("only sessions of a remote that left are unreachable instead of not found", async () => {
  const { clock, now } = stoppedClock();
  await using hq = await MemoryFleet.of({ now });
  await hq.join("a", ["one"]);
  await hq.registry.remove("id-of-a");
  await expect(hq.fleet.get("one")).rejects.toMatchObject({
    code: "remote_unreachable",
    message: "remote a left a moment ago with session one: try again when it is back",
  });
  expect(await codeOf(hq, "nobody")).toBe("session_not_found");
  hq.remote("http://a.test").sessions.delete("one");
  await hq.join("a");
  expect(await codeOf(hq, "one")).toBe("session_not_found");
  await hq.registry.remove("id-of-a");
  clock.ms += DOWN_REMOTE_MEMORY_MS;
  expect(await codeOf(hq, "one")).toBe("session_not_found");
});

test("a remote is not awaited after another one took its name, or after it returned and left", async () => {
  await using hq = await MemoryFleet.of();
  await hq.registry.register(registration("b"));
  await hq.registry.register(registration("b", { id: "successor" }));
  await hq.registry.remove("successor");
  expect(await codeOf(hq, "one")).toBe("session_not_found");

  await hq.join("c");
  await expire(hq.registry, "c");
  expect(await codeOf(hq, "one")).toBe("remote_unreachable");
  await hq.join("c");
  await hq.registry.remove("id-of-c");
  expect(await codeOf(hq, "one")).toBe("session_not_found");
});
