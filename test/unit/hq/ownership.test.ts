import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Ownership } from "../../../src/hq/ownership.ts";

describe("the owner of an id", () => {
  test("is the first holder, and later holders are conflicts", () => {
    const owners = new Ownership<string>();
    expect(owners.claim("one", "a")).toBe(false);
    expect(owners.claim("one", "b")).toBe(true);
    expect(owners.claim("one", "b")).toBe(false);
    expect(owners.of("one")).toBe("a");
  });

  test("is undefined for an id without holders", () => {
    const owners = new Ownership<string>();
    owners.claim("one", "a");
    expect(owners.release("one", "a")).toBeUndefined();
    expect(owners.of("one")).toBeUndefined();
    expect(owners.of("other")).toBeUndefined();
  });

  test("is the next holder once the first one releases the id", () => {
    const owners = new Ownership<string>();
    for (const owner of ["a", "b", "c"]) owners.claim("one", owner);
    expect(owners.release("one", "b")).toBeUndefined();
    expect(owners.release("one", "a")).toBe("c");
    expect(owners.of("one")).toBe("c");
  });
});

test("after any sequence each id with holders has exactly one owner, which keeps it until it releases the id", () => {
  const step = fc.record({
    owner: fc.constantFrom("a", "b", "c"),
    id: fc.constantFrom("1", "2"),
    isClaim: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const owners = new Ownership<string>();
      const held = new Map([
        ["1", new Set<string>()],
        ["2", new Set<string>()],
      ]);
      for (const { owner, id, isClaim } of steps) {
        const before = owners.of(id);
        const holders = held.get(id) ?? new Set();
        if (isClaim) owners.claim(id, owner);
        else owners.release(id, owner);
        if (isClaim) holders.add(owner);
        else holders.delete(owner);
        const found = owners.of(id);
        if (holders.size === 0) expect(found).toBeUndefined();
        else expect(holders).toContain(found);
        if (before !== undefined && holders.has(before)) expect(found).toBe(before);
      }
    }),
  );
});
