import { expect, test } from "vitest";
import { chainLines, GENESIS } from "../../../src/audit/file/chain.ts";
import { auditLine } from "../../../src/audit/file/line.ts";
import { readSharedAudit, registryReceiver } from "../../../src/audit/shared-log.ts";
import type { SharedLine, SharedLines } from "../../../src/lib/data/live-records.ts";
import { loginOf } from "./log-place.ts";

/** As the registry keeps them. */
function memoryLines(): SharedLines {
  const all: SharedLine[] = [];
  return {
    append: async (from, texts) => {
      for (const text of texts) all.push({ id: `1000-${all.length}`, from, text });
    },
    before: async (id, count) => {
      const end = id === undefined ? all.length : all.findIndex((line) => line.id === id);
      return all.slice(Math.max(0, end - count), end).toReversed();
    },
  };
}

/** The lines of a log that begins with the first of these users. */
function linesOf(...users: readonly string[]): readonly string[] {
  const lines = users.map((user) => auditLine(loginOf(user), new Date(0)));
  return chainLines(lines, GENESIS).map(({ text }) => text);
}

test("HQs on one host, each with a log of its own, hide no line of each other", async () => {
  const lines = memoryLines();
  await registryReceiver(lines, "host").deliver(linesOf("ada", "bob"));
  await registryReceiver(lines, "host").deliver(linesOf("eve", "dan"));
  const { entries } = await readSharedAudit(lines, {});
  expect(entries.map(({ user, seq }) => [user, seq])).toEqual([
    ["dan", 2],
    ["eve", 1],
    ["bob", 2],
    ["ada", 1],
  ]);
});

test("a line that was sent twice, since the answer was lost, is in a page once", async () => {
  const lines = memoryLines();
  const receiver = registryReceiver(lines, "host");
  await receiver.deliver(linesOf("ada", "bob"));
  await receiver.deliver(linesOf("ada", "bob"));
  const { entries } = await readSharedAudit(lines, {});
  expect(entries.map(({ user }) => user)).toEqual(["bob", "ada"]);
});
