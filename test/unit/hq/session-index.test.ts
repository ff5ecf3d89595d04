import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SessionIndex } from "../../../src/hq/session-index.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { AnySession } from "../../../src/remote/specified/session-record.ts";

/** A remote with sessions of these ids. */
class Remote {
  isListed = true;
  readonly records = new Map<string, SessionRecord>();

  constructor(...ids: readonly string[]) {
    for (const id of ids) this.records.set(id, AnySession.parse({ id }));
  }
}

describe("the owner of an id", () => {
  test("is the first holder, and later holders are conflicts", () => {
    const index = new SessionIndex<Remote>();
    const [a, b] = [new Remote("one"), new Remote("one")];
    expect(index.claim("one", a)).toBe(false);
    expect(index.claim("one", b)).toBe(true);
    expect(index.claim("one", b)).toBe(false);
    expect(index.ownerOf("one")).toBe(a);
  });

  test("is undefined for an id without holders", () => {
    const index = new SessionIndex<Remote>();
    const a = new Remote("one");
    index.claim("one", a);
    expect(index.release("one", a)).toBeUndefined();
    expect(index.ownerOf("one")).toBeUndefined();
    expect(index.ownerOf("other")).toBeUndefined();
  });

  test("is the next holder once the first one releases the id, whose session is listed", () => {
    const index = new SessionIndex<Remote>();
    const [a, b, c] = [new Remote("one"), new Remote("one"), new Remote("one")];
    for (const remote of [a, b, c]) index.claim("one", remote);
    expect(index.release("one", b)).toBeUndefined();
    expect(index.release("one", a)).toBe(c.records.get("one"));
    expect(index.ownerOf("one")).toBe(c);
  });

  test("whose remote is not listed is not listed either", () => {
    const index = new SessionIndex<Remote>();
    const [a, b] = [new Remote("one"), new Remote("one")];
    for (const remote of [a, b]) index.claim("one", remote);
    b.isListed = false;
    expect(index.release("one", a)).toBeUndefined();
    expect(index.all()).toEqual([]);
  });
});

const REMOTES = ["a", "b", "c"] as const;

const step = fc.record({
  name: fc.constantFrom(...REMOTES),
  id: fc.constantFrom("1", "2", "3"),
  status: fc.constantFrom("running", "exited", undefined),
  second: fc.nat(3),
  isListed: fc.boolean(),
  isRead: fc.boolean(),
});

test("after any changes an id has the owner that it had, and the list has the owners' sessions, newest first", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const index = new SessionIndex<Remote>();
      const remotes = { a: new Remote(), b: new Remote(), c: new Remote() };
      const ids = ["1", "2", "3"];
      const shown = (): readonly SessionRecord[] =>
        ids.flatMap((id) => {
          const owner = index.ownerOf(id);
          return (owner?.isListed && owner.records.get(id)) || [];
        });
      for (const { name, id, status, second, isListed, isRead } of steps) {
        const remote = remotes[name];
        const before = index.ownerOf(id);
        const created = new Date(second * 1000).toISOString();
        remote.isListed = isListed;
        for (const each of ids) index.refresh(each);
        if (status === undefined) {
          remote.records.delete(id);
          index.release(id, remote);
        } else {
          remote.records.set(id, AnySession.parse({ id, status, created }));
          index.claim(id, remote);
          index.refresh(id);
        }
        const holders = Object.values(remotes).filter(({ records }) => records.has(id));
        if (holders.length === 0) expect(index.ownerOf(id)).toBeUndefined();
        else expect(holders).toContain(index.ownerOf(id));
        if (before !== undefined && holders.includes(before)) expect(index.ownerOf(id)).toBe(before);
        expect(index.running).toBe(shown().filter((each) => each.status === "running").length);
        if (isRead) expectNewestFirst(index.all(), shown());
      }
      expectNewestFirst(index.all(), shown());
      expect(index.all()).toBe(index.all());
    }),
  );
});

function expectNewestFirst(list: readonly SessionRecord[], shown: readonly SessionRecord[]): void {
  expect(new Set(list)).toEqual(new Set(shown));
  expect(list).toHaveLength(shown.length);
  const times = list.map(({ created }) => created);
  expect(times).toEqual(times.toSorted().reverse());
}
