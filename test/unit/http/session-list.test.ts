import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionListJson } from "../../../src/http/session-list.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

async function recordsOf(...ids: string[]): Promise<readonly SessionRecord[]> {
  const memory = new MemorySessions();
  for (const id of ids) memory.add(id);
  return await memory.list();
}

const nobody = (): number => 0;
const parsed = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

test("the answer has the records in their order, each with its viewers", async () => {
  const json = new SessionListJson();
  const records = await recordsOf("one", "two");
  const viewersOf = (id: string): number => (id === "two" ? 7 : 0);
  const expected = records.map((record) => ({ ...record, viewers: viewersOf(record.id) }));
  expect(parsed(json.of(records, viewersOf))).toEqual(expected);
});

test("without sessions the answer is an empty list", () => {
  const json = new SessionListJson();
  expect(parsed(json.of([], nobody))).toEqual([]);
});

test("text beyond ASCII is preserved", async () => {
  const [record] = await recordsOf("one");
  const named = [{ ...record, name: "größer → 端末" }] as readonly SessionRecord[];
  expect(parsed(new SessionListJson().of(named, nobody))).toEqual([{ ...named[0], viewers: 0 }]);
});

test("the answer stays the same until something changes", async () => {
  const json = new SessionListJson();
  const records = await recordsOf("one", "two");
  const answer = json.of(records, nobody);
  expect(json.of(records, nobody)).toBe(answer);
  expect(parsed(json.of(records, () => 1))).toEqual(records.map((record) => ({ ...record, viewers: 1 })));
});

test("replaced and removed records change the answer", async () => {
  const json = new SessionListJson();
  const records = await recordsOf("one", "two", "three");
  json.of(records, nobody);
  const [one, two] = records;
  if (one === undefined || two === undefined) throw new Error("no records");
  const later = [{ ...two, name: "another" }, one];
  expect(parsed(json.of(later, nobody))).toEqual(later.map((record) => ({ ...record, viewers: 0 })));
});

test("every answer has its records after any changes since the last one", async () => {
  const [record] = await recordsOf("one");
  if (record === undefined) throw new Error("no record");
  const lists = fc.array(fc.uniqueArray(fc.nat(12), { maxLength: 9 }), { maxLength: 8 });
  fc.assert(
    fc.property(lists, fc.func(fc.boolean()), (answers, hasChanged) => {
      const json = new SessionListJson();
      const known = new Map<number, SessionRecord>();
      for (const [turn, ids] of answers.entries()) {
        for (const id of ids) {
          const isNew = !known.has(id) || hasChanged(turn, id);
          if (isNew) known.set(id, { ...record, id: `${id}`, name: "ü".repeat((turn * id) % 5) });
        }
        const records = ids.map((id) => known.get(id) ?? record);
        expect(parsed(json.of(records, nobody))).toEqual(records.map((each) => ({ ...each, viewers: 0 })));
      }
    }),
  );
});
