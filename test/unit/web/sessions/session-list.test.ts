import { expect, test } from "vitest";
import { SessionList } from "../../../../src/web/sessions/session-list.ts";
import { Events, session, shown } from "../hq.ts";
import { until } from "../until.ts";

const NEVER_MS = 2 ** 31 - 1;

test("running sessions come first", async () => {
  const records = [session("1", undefined, "exited"), session("2")];
  const { subscribe } = new Events();
  using sessions = new SessionList({ fetch: async () => records, subscribe, ...shown });
  await until(sessions.all, (all) => all !== undefined);
  expect(sessions.all.value?.map(({ id }) => id)).toEqual(["2", "1"]);
});

test("the sessions of a machine that left are remembered until it has some again, others are not", async () => {
  const events = new Events();
  let records = [session("1", "a"), session("2", "b"), session("3", "b")];
  using sessions = new SessionList({ fetch: async () => records, subscribe: events.subscribe, ...shown });
  await until(sessions.all, (all) => all?.length === 3);
  records = [session("3", "b")];
  events.tell({ type: "remote-left", remoteName: "a" });
  await until(sessions.all, (all) => all?.length === 1);
  expect(sessions.remembered.value.map(({ id }) => id)).toEqual(["1"]);
  expect([sessions.record("1")?.source, sessions.record("2")]).toEqual(["a", undefined]);
  records = [session("3", "b"), session("4", "a")];
  events.tell({ type: "remote-joined", remoteName: "a" });
  await until(sessions.all, (all) => all?.length === 2);
  expect(sessions.remembered.value).toEqual([]);
});

test("whose a session is matters as soon as there are sessions of several users", async () => {
  const events = new Events();
  const of = (id: string, owner: string) => ({ ...session(id), owner });
  let records = [of("1", "ada"), of("2", "ada")];
  using sessions = new SessionList({ fetch: async () => records, subscribe: events.subscribe, ...shown });
  await until(sessions.all, (all) => all?.length === 2);
  expect(sessions.haveOwners.value).toBe(false);
  records = [of("1", "ada"), of("2", "ada"), of("3", "bob")];
  events.tell({ type: "session-start", sessionId: "3" });
  await until(sessions.all, (all) => all?.length === 3);
  expect(sessions.haveOwners.value).toBe(true);
});

test("a session that is removed is not remembered", async () => {
  const events = new Events();
  const records = [session("1", "a")];
  using sessions = new SessionList({ fetch: async () => records, subscribe: events.subscribe, ...shown });
  await until(sessions.all, (all) => all?.length === 1);
  events.tell({ type: "session-removed", sessionId: "1" });
  expect([sessions.all.value, sessions.remembered.value]).toEqual([[], []]);
});

test("what could not be read is read when the connection is back, and not after a while", async () => {
  const events = new Events();
  const failed = Promise.withResolvers<void>();
  let isBack = false;
  const fetch = async () => {
    if (isBack) return [session("1")];
    failed.resolve();
    throw new Error("no network");
  };
  using sessions = new SessionList({ fetch, subscribe: events.subscribe, ...shown, retryMs: NEVER_MS });
  await failed.promise;
  await new Promise(setImmediate);
  isBack = true;
  events.tell({ type: "connected" });
  await until(sessions.all, (all) => all?.length === 1);
});
