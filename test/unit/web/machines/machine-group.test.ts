import { expect, test } from "vitest";
import { groupByMachine } from "../../../../src/web/machines/machine-group.ts";
import type { Machine } from "../../../../src/web/machines/machine-list.ts";
import { session } from "../hq.ts";

const machine = (name: string, isHere = true): Machine => ({
  ...{ name, id: name, isHere },
  ...{ url: undefined, hidden: 0, isCordoned: false },
});

test("sessions stand under their machines in the order of both lists", () => {
  const sessions = [session("1", "b"), session("2", "local"), session("3", "b")];
  const groups = groupByMachine([machine("local"), machine("a"), machine("b")], sessions, []);
  expect(groups.map((group) => [group.machine.name, group.sessions.map(({ id }) => id)])).toEqual([
    ["local", ["2"]],
    ["a", []],
    ["b", ["1", "3"]],
  ]);
});

test("a machine that left has the sessions that it had, one that is here only those that it has", () => {
  const remembered = [session("1", "a"), session("2", "b")];
  const groups = groupByMachine([machine("a", false), machine("b")], [], remembered);
  expect(groups.map((group) => group.sessions.map(({ id }) => id))).toEqual([["1"], []]);
});
