import fc from "fast-check";
import { expect, test } from "vitest";
import { ListedSessions } from "../../../src/hq/listed-sessions.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

const step = fc.record({
  id: fc.nat(9),
  status: fc.constantFrom("running", "exited", undefined),
  second: fc.nat(3),
  isListed: fc.boolean(),
});

test("after any changes the list is sorted newest first and the running sessions are counted", async () => {
  const memory = new MemorySessions();
  memory.add("template");
  const [template] = await memory.list();
  if (template === undefined) throw new Error("no record");
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const listed = new ListedSessions();
      const shown = new Map<string, SessionRecord>();
      for (const { id: number, status, second, isListed } of steps) {
        const id = `session-${number}`;
        const created = new Date(second * 1000).toISOString();
        const record = status && { ...template, id, status, created };
        listed.set(id, record);
        if (record === undefined) shown.delete(id);
        else shown.set(id, record);
        expect(listed.running).toBe([...shown.values()].filter((each) => each.status === "running").length);
        if (isListed) expectNewestFirst(listed.all(), shown);
      }
      expectNewestFirst(listed.all(), shown);
      expect(listed.all()).toBe(listed.all());
    }),
  );
});

function expectNewestFirst(list: readonly SessionRecord[], shown: ReadonlyMap<string, SessionRecord>): void {
  expect(new Set(list)).toEqual(new Set(shown.values()));
  expect(list).toHaveLength(shown.size);
  const times = list.map(({ created }) => created);
  expect(times).toEqual(times.toSorted().reverse());
}
