import { expect, test } from "vitest";
import type { SessionSnapshot } from "../../../../src/protocol/directory/session-change.ts";
import type { SessionRecord } from "../../../../src/protocol/schemas/session.ts";
import { SessionList } from "../../../../src/web/sessions/session-list.ts";
import { Events, session } from "../hq.ts";
import { until } from "../until.ts";

const EPOCH = "epoch";

/** A server with these sessions, and the page's list of them. */
function stage(records: readonly SessionRecord[]) {
  const events = new Events();
  const lists: PromiseWithResolvers<SessionSnapshot>[] = [];
  const sessions = new SessionList({
    list: () => {
      const answer = Promise.withResolvers<SessionSnapshot>();
      lists.push(answer);
      if (lists.length === 1) answer.resolve({ position: { epoch: EPOCH, revision: 0 }, records });
      return answer.promise;
    },
    subscribe: events.subscribe,
    onLost: () => new DisposableStack(),
  });
  let revision = 0;
  const tell = (event: Parameters<Events["tell"]>[0]): void => {
    if (event.type !== "connected") revision += 1;
    events.tell({ epoch: EPOCH, revision, ...event });
  };
  tell({ type: "connected" });
  const ids = (): readonly string[] | undefined => sessions.all.value?.map(({ id }) => id);
  return { sessions, lists, tell, ids };
}

test("running sessions come first", async () => {
  const { sessions, ids } = stage([session("1", undefined, "exited"), session("2")]);
  using _sessions = sessions;
  await until(sessions.all, (all) => all !== undefined);
  expect(ids()).toEqual(["2", "1"]);
});

test("a session's events are shown without another request", async () => {
  const { sessions, lists, tell, ids } = stage([session("1")]);
  using _sessions = sessions;
  await until(sessions.all, (all) => all?.length === 1);
  const ended = session("1", undefined, "exited");
  tell({ type: "session-start", sessionId: "2", key: "2", record: { ...session("2"), key: "2" } });
  tell({ type: "session-exit", sessionId: "1", record: ended });
  await until(sessions.all, (all) => all?.length === 2);
  expect(ids()).toEqual(["2", "1"]);
  expect(sessions.record("1")?.status).toBe("exited");
  tell({ type: "session-removed", sessionId: "2", key: "2" });
  await until(sessions.all, (all) => all?.length === 1);
  expect(lists).toHaveLength(1);
});

test("after a gap in the events the list is read again", async () => {
  const { sessions, lists, tell } = stage([session("1")]);
  using _sessions = sessions;
  await until(sessions.all, (all) => all?.length === 1);
  tell({ type: "session-start", sessionId: "3", revision: 2, record: session("3") });
  expect(lists).toHaveLength(2);
  const records = [session("1"), session("2"), session("3")];
  lists[1]?.resolve({ position: { epoch: EPOCH, revision: 2 }, records });
  await until(sessions.all, (all) => all?.length === 3);
});

test("the sessions of a machine that left are remembered until it has some again, others are not", async () => {
  const { sessions, tell } = stage([session("1", "a"), session("2", "b"), session("3", "b")]);
  using _sessions = sessions;
  await until(sessions.all, (all) => all?.length === 3);
  tell({ type: "session-removed", sessionId: "2", key: `2 ${session("2").created}` });
  tell({ type: "remote-left", remoteName: "a" });
  // At once: no session is ever shown twice.
  expect(sessions.all.value?.some(({ id }) => id === "1")).toBe(false);
  await until(sessions.all, (all) => all?.length === 1);
  expect(sessions.remembered.value.map(({ id }) => id)).toEqual(["1"]);
  expect([sessions.record("1")?.source, sessions.record("2")]).toEqual(["a", undefined]);
  tell({ type: "session-changed", sessionId: "4", record: session("4", "a") });
  await until(sessions.all, (all) => all?.length === 2);
  expect(sessions.remembered.value).toEqual([]);
});

test("owners are shown once there are sessions of several users", async () => {
  const of = (id: string, owner: string) => ({ ...session(id), owner });
  const { sessions, tell } = stage([of("1", "ada"), of("2", "ada")]);
  using _sessions = sessions;
  await until(sessions.all, (all) => all?.length === 2);
  expect(sessions.haveOwners.value).toBe(false);
  tell({ type: "session-start", sessionId: "3", record: of("3", "bob") });
  await until(sessions.all, (all) => all?.length === 3);
  expect(sessions.haveOwners.value).toBe(true);
});
