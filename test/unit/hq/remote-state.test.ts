import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isRegistered,
  LEFT,
  type RegistryEntry,
  type Remote,
  type RemoteAction,
  type RemoteEvent,
  type RemoteState,
  transition,
} from "../../../src/hq/remote-state.ts";
import { DOWN_REMOTE_MEMORY_MS } from "../../../src/protocol/limits.ts";
import { registration } from "./memory-store.ts";

const timeAt = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const remoteAt = (minute: number, more: Partial<Remote> = {}): Remote => {
  return { ...registration("a"), registeredAt: timeAt(0), lastHeartbeat: timeAt(minute), ...more };
};

/** The state after these events, and the types of all actions on the way. */
function run(...events: readonly RemoteEvent[]): { state: RemoteState; actions: readonly string[] } {
  let state = LEFT;
  const actions: string[] = [];
  for (const event of events) {
    const outcome = transition(state, event);
    state = outcome.state;
    actions.push(...outcome.actions.map(({ type }) => type));
  }
  return { state, actions };
}

const registered = (minute = 0): RemoteEvent => {
  return { type: "stored", entry: { remote: remoteAt(minute) }, version: "1" };
};
const registeredInMemory: RemoteEvent = { type: "registered", remote: remoteAt(0) };
const unanswered: RemoteEvent = { type: "unanswered", asked: remoteAt(0) };
const expired: RemoteEvent = { type: "expired", at: timeAt(1) };
const answered: RemoteEvent = { type: "answered", id: "id-of-a", at: timeAt(2) };
const storedAsDown: RemoteEvent = { type: "stored", entry: { downSince: timeAt(1) }, version: "2" };
const tick = (ms: number): RemoteEvent => {
  return { type: "tick", at: new Date(Date.parse(timeAt(1)) + ms).toISOString() };
};

describe("a remote that does not answer", () => {
  test("is suspect, then removed from the store, then down, and is checked until it answers", () => {
    expect(run(registered(), unanswered).state.status).toBe("suspect");
    expect(run(registered(), unanswered, expired).actions).toEqual(["joined", "remove"]);
    const down = [registered(), unanswered, expired, storedAsDown, tick(1_000)];
    expect(run(...down)).toMatchObject({
      state: { status: "down", isBeingChecked: true },
      actions: ["joined", "remove", "left", "check"],
    });
    expect(run(...down, answered).actions.at(-1)).toBe("restore");
    expect(run(...down, unanswered, tick(2_000)).actions.slice(-2)).toEqual(["check", "check"]);
  });

  test("is up again after any sign of life, and is not removed", () => {
    for (const sign of [answered, registered(1)]) {
      expect(run(registered(), unanswered, sign, expired).state.status).toBe("up");
      expect(run(registered(), unanswered, sign, expired).actions).not.toContain("remove");
    }
  });

  test("but was heard of since the check began is not suspect", () => {
    expect(run(registered(), answered, unanswered).state.status).toBe("up");
    expect(run(registered(), registered(1), unanswered).state.status).toBe("up");
  });

  test("and is in memory only is down without a change of the store", () => {
    const removed: RemoteEvent = { type: "removed", since: timeAt(1) };
    const { state, actions } = run(registeredInMemory, unanswered, expired, removed);
    expect([state.status, actions]).toEqual(["down", ["joined", "remove", "left"]]);
  });

  test("is checked only by the HQ that suspected it", () => {
    expect(run(registered(), storedAsDown, tick(1_000)).actions).toEqual(["joined", "left"]);
  });

  test("is forgotten after a while, also when the clock was set back", () => {
    const down = [registered(), storedAsDown];
    const statusAt = (ms: number): string => run(...down, tick(ms)).state.status;
    expect([statusAt(DOWN_REMOTE_MEMORY_MS - 1), statusAt(DOWN_REMOTE_MEMORY_MS)]).toEqual(["down", "left"]);
    expect([statusAt(-1_000), statusAt(-DOWN_REMOTE_MEMORY_MS)]).toEqual(["down", "left"]);
    const noTime: RemoteEvent = { type: "read", entry: { downSince: "yesterday" }, version: "1" };
    expect(run(noTime, tick(0)).state.status).toBe("left");
    expect(run(...down, tick(DOWN_REMOTE_MEMORY_MS)).actions.at(-1)).toBe("forget");
  });
});

describe("a remote that the store does not have", () => {
  const missing: RemoteEvent = { type: "read", entry: undefined, version: undefined };

  test("is stored again if the store never had it", () => {
    expect(run(registeredInMemory, missing).actions).toEqual(["joined", "restore"]);
  });

  test("is checked if the store has lost it, and leaves unless it answers", () => {
    const lost = [registered(), missing];
    expect(run(...lost).actions).toEqual(["joined", "check"]);
    expect(run(...lost, unanswered)).toEqual({ state: LEFT, actions: ["joined", "check", "left"] });
    expect(run(...lost, answered)).toMatchObject({ state: { status: "up" } });
    expect(run(...lost, answered).actions.at(-1)).toBe("restore");
  });
});

test("a registration with another id replaces the remote, one with the same id refreshes it", () => {
  const remote = remoteAt(0, { id: "other" });
  const other: RemoteEvent = { type: "stored", entry: { remote }, version: "2" };
  expect(run(registered(), registered(1)).actions).toEqual(["joined", "refreshed"]);
  expect(run(registered(), other).actions).toEqual(["joined", "left", "joined"]);
  expect(run(registered(), other, answered, unanswered).state.status).toBe("up");
});

test("reading an unchanged registration again keeps the time of the last sign of life", () => {
  const read: RemoteEvent = { type: "read", entry: { remote: remoteAt(0) }, version: "2" };
  const { state, actions } = run(registered(), answered, read);
  expect(state).toEqual({ status: "up", remote: remoteAt(2), version: "2", isStored: true });
  expect(actions).toEqual(["joined"]);
});

test("a registration that only this HQ knows wins over an older one of the store, and asks for another holder of its name", () => {
  const read = (remote: Remote): RemoteEvent => ({ type: "read", entry: { remote }, version: "2" });
  const older = remoteAt(-1, { token: "old" });
  const restored = (stored: Remote) => transition(run(registeredInMemory).state, read(stored)).actions;
  expect(restored(older)).toEqual([{ type: "restore", remote: remoteAt(0), holder: undefined }]);
  const other = remoteAt(1, { id: "other" });
  expect(restored(other)).toEqual([{ type: "restore", remote: remoteAt(0), holder: other }]);
  expect(run(registeredInMemory, read(remoteAt(1, { token: "new" }))).actions).toEqual([
    "joined",
    "refreshed",
  ]);
});

test("a registration that only this HQ knows does not win by a sign of life over a newer one of the store", () => {
  const before = remoteAt(0, { refreshedAt: timeAt(0) });
  const newer = remoteAt(1, { refreshedAt: timeAt(1), cordoned: true });
  const events: readonly RemoteEvent[] = [
    { type: "registered", remote: before },
    answered,
    { type: "read", entry: { remote: newer }, version: "2" },
  ];
  expect(run(...events)).toMatchObject({ state: { remote: newer }, actions: ["joined", "refreshed"] });
});

const ids = fc.constantFrom("one", "two");
const minutes = fc.integer({ min: 0, max: 4 });
const times = minutes.map(timeAt);
const since = fc.option(times, { nil: undefined });
const remotes = fc.record({ id: ids, minute: minutes, token: fc.constantFrom("old", "new") });
const anyRemote = remotes.map(({ id, minute, token }) => remoteAt(minute, { id, token }));
const version = fc.option(fc.constantFrom("1", "2"), { nil: undefined });
const entry: fc.Arbitrary<RegistryEntry | undefined> = fc.oneof(
  fc.constant(undefined),
  fc.record({ remote: anyRemote }),
  fc.record({ downSince: times }),
);
const events: fc.Arbitrary<RemoteEvent> = fc.oneof(
  fc.record({ type: fc.constantFrom("stored" as const, "read" as const), entry, version }),
  fc.record({ type: fc.constant("registered" as const), remote: anyRemote }),
  fc.record({ type: fc.constant("answered" as const), id: ids, at: times }),
  fc.record({ type: fc.constant("unanswered" as const), asked: anyRemote }),
  fc.record({ type: fc.constant("expired" as const), at: times }),
  fc.record({ type: fc.constant("removed" as const), since }),
  fc.record({ type: fc.constant("forgotten" as const) }),
  fc.record({ type: fc.constant("tick" as const), at: times }),
);

/** The id that listeners know of, from the actions that they hear. */
function known(id: string | undefined, actions: readonly RemoteAction[]): string | undefined {
  let now = id;
  for (const action of actions) {
    if (action.type === "forget") continue;
    const { type, remote } = action;
    if (type === "joined" && now !== undefined) throw new Error(`${remote.id} joins while ${now} is there`);
    if ((type === "refreshed" || type === "left") && now !== remote.id) {
      throw new Error(`${type} of ${remote.id} while listeners know ${now}`);
    }
    if (type === "joined") now = remote.id;
    if (type === "left") now = undefined;
  }
  return now;
}

test("after any sequence of events listeners know the remote that is registered, and rules of removal hold", () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 40 }), (sequence) => {
      let state = LEFT;
      let heard: string | undefined;
      for (const event of sequence) {
        const before = state;
        const { state: next, actions } = transition(before, event);
        heard = known(heard, actions);
        expect(heard).toBe(isRegistered(next) ? next.remote.id : undefined);
        const types = actions.map(({ type }) => type);
        // Only a suspect is removed from the store, and only a remote that lacks proof of life is checked.
        if (types.includes("remove")) expect([event.type, before.status]).toEqual(["expired", "suspect"]);
        if (types.includes("check")) expect(["lost", "down"]).toContain(next.status);
        if (types.includes("restore")) expect(["answered", "read"]).toContain(event.type);
        // A remote that was up goes down only when it was removed, here or from the store.
        if (before.status === "up" && next.status === "down")
          expect(["stored", "removed"]).toContain(event.type);
        if (next.status === "suspect") expect(["up", "suspect"]).toContain(before.status);
        const isOwnSign = event.type === "answered" && isRegistered(before) && before.remote.id === event.id;
        if (isOwnSign || event.type === "registered") expect(next.status).toBe("up");
        state = next;
      }
    }),
    { numRuns: 2_000 },
  );
});
