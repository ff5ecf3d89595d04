import { expect, test } from "vitest";
import { KnownOwners } from "../../../src/access/known-owners.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

const AT = "2026-01-01T00:00:00.000Z";

test.each<Pick<ServerEvent, "type" | "sessionId">>([
  { type: "session-removed", sessionId: "one" },
  { type: "session-start", sessionId: "one" },
  { type: "connected" },
])("an answer that was on its way when $type was told is nothing to go by", async (event) => {
  const sessions = new MemorySessions();
  sessions.add("one");
  using owners = new KnownOwners(sessions);
  const get = sessions.get.bind(sessions);
  const { promise: begun, resolve: goOn } = Promise.withResolvers<void>();
  let looks = 0;
  sessions.get = async (id) => {
    const owner = `owner ${++looks}`;
    if (looks === 1) await begun;
    return { ...(await get(id)), owner };
  };
  const first = owners.ask("one");
  sessions.announce({ timestamp: AT, ...event });
  const second = owners.ask("one");
  goOn();
  expect(await first).toMatchObject({ owner: "owner 2" });
  expect(await second).toMatchObject({ owner: "owner 2" });
  expect(owners.known("one")).toMatchObject({ owner: "owner 2" });
});

test("who asks meanwhile gets the same answer, which is remembered", async () => {
  const sessions = new MemorySessions();
  sessions.add("one");
  using owners = new KnownOwners(sessions);
  const first = owners.ask("one");
  sessions.announce({ timestamp: AT, type: "session-removed", sessionId: "two" });
  expect(owners.ask("one")).toBe(first);
  expect(owners.known("one")).toBeUndefined();
  expect(await first).toEqual(owners.known("one"));
  expect(owners.known("one")).toMatchObject({ id: "one" });
});

test("nobody who asks later is before those who wait, not even when the session is read meanwhile, nor in the moment of the answer", async () => {
  const sessions = new MemorySessions();
  sessions.add("one");
  using owners = new KnownOwners(sessions);
  const come: string[] = [];
  const asks = Array.from("abcdefghijklmnopqrstuvwxyz");
  const waits: Promise<unknown>[] = [];
  for (const ask of asks) {
    const known = owners.known("one");
    if (known !== undefined) come.push(ask);
    else waits.push(owners.ask("one").then(() => come.push(ask)));
    if (ask === "b") owners.learn(await sessions.get("one"));
    await undefined;
  }
  await Promise.all(waits);
  expect(come).toEqual(asks);
});

test("an answer about another session is none", async () => {
  const sessions = new MemorySessions();
  sessions.add("one");
  sessions.add("two");
  using owners = new KnownOwners(sessions);
  const get = sessions.get.bind(sessions);
  sessions.get = () => get("two");
  await expect(owners.ask("one")).rejects.toMatchObject({ code: "internal_error" });
  expect([owners.known("one"), owners.known("two")]).toEqual([undefined, undefined]);
});
