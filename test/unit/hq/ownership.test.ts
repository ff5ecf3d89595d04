import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Ownership } from "../../../src/hq/ownership.ts";

function sessions(...ids: string[]): ReadonlySet<string> {
  return new Set(ids);
}

describe("the owner of an id", () => {
  test("is whoever had it first", () => {
    const owners = new Ownership<string>();
    expect(owners.settle("a", sessions("one", "two"))).toEqual([]);
    expect(owners.settle("b", sessions("two", "three"))).toEqual(["two"]);
    expect([owners.of("one"), owners.of("two"), owners.of("three")]).toEqual(["a", "a", "b"]);
    expect([...owners.conflictsOf("b")]).toEqual(["two"]);
    expect([...owners.conflictsOf("a")]).toEqual([]);
  });

  test("is nobody for an id that nobody has", () => {
    const owners = new Ownership<string>();
    owners.settle("a", sessions("one"));
    owners.settle("a", sessions());
    expect(owners.of("one")).toBeUndefined();
    expect(owners.of("other")).toBeUndefined();
  });

  test("is the next one who has it, once the first has it no more", () => {
    const owners = new Ownership<string>();
    owners.settle("a", sessions("one"));
    owners.settle("b", sessions("one"));
    owners.settle("a", sessions());
    expect(owners.of("one")).toBe("b");
    expect([...owners.conflictsOf("b")]).toEqual([]);
  });

  test("is the next one when the first is released, and none after both were", () => {
    const owners = new Ownership<string>();
    for (const owner of ["a", "b", "c"]) owners.settle(owner, sessions("one"));
    owners.release("a");
    expect(owners.of("one")).toBe("b");
    owners.release("c");
    owners.release("b");
    expect(owners.of("one")).toBeUndefined();
  });
});

test("a conflict is told once, and again when it came back", () => {
  const owners = new Ownership<string>();
  owners.settle("a", sessions("one"));
  expect(owners.settle("b", sessions("one"))).toEqual(["one"]);
  expect(owners.settle("b", sessions("one", "two"))).toEqual([]);
  expect(owners.settle("b", sessions("two"))).toEqual([]);
  expect(owners.settle("b", sessions("one", "two"))).toEqual(["one"]);
});

test("whatever happens, each id that somebody has belongs to exactly one who has it, and is a conflict for all others", () => {
  const step = fc.record({
    owner: fc.constantFrom("a", "b", "c"),
    ids: fc.uniqueArray(fc.constantFrom("1", "2", "3", "4")),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const owners = new Ownership<string>();
      const held = new Map<string, ReadonlySet<string>>();
      const before = new Map<string, string>();
      for (const { owner, ids } of steps) {
        owners.settle(owner, new Set(ids));
        held.set(owner, new Set(ids));
        for (const id of ["1", "2", "3", "4"]) {
          const holders = [...held].filter(([, has]) => has.has(id)).map(([name]) => name);
          const found = owners.of(id);
          if (holders.length === 0) expect(found).toBeUndefined();
          else expect(holders).toContain(found);
          for (const holder of holders) expect(owners.conflictsOf(holder).has(id)).toBe(holder !== found);
          // Who has it and goes on having it keeps it.
          const earlier = before.get(id);
          if (earlier !== undefined && holders.includes(earlier)) expect(found).toBe(earlier);
          if (found === undefined) before.delete(id);
          else before.set(id, found);
        }
      }
    }),
  );
});
