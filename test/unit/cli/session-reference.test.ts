import { expect, test } from "vitest";
import { findSession, shortIds } from "../../../src/cli/session-reference.ts";
import { record } from "./record.ts";

const sessions = [
  record({ id: "abc1", name: "build" }),
  record({ id: "abd2", name: "build", status: "exited" }),
  record({ id: "xyz3", name: "abc" }),
  record({ id: "build", name: "other" }),
  record({ id: "old1", name: "twice", status: "exited" }),
  record({ id: "old2", name: "twice", status: "exited" }),
];

test.each([
  ["abc1", "abc1"],
  ["build", "build"],
  ["abc", "xyz3"],
  ["xy", "xyz3"],
  ["other", "build"],
])("%s is session %s", (reference, id) => {
  expect(findSession(reference, sessions).id).toBe(id);
});

test("a running session goes before an ended one of the same name", () => {
  expect(findSession("build", sessions.slice(0, 3)).id).toBe("abc1");
});

test.each(["ab", "twice", "old"])(
  "the ambiguous reference %s is rejected with the candidates",
  (reference) => {
    expect(() => findSession(reference, sessions)).toThrow(/could be 2 sessions: \w+ \(\w+\), \w+ \(\w+\)/);
  },
);

test.each(["nothing", ""])("%j finds no session", (reference) => {
  expect(() => findSession(reference, sessions)).toThrow(`no session ${JSON.stringify(reference)}`);
});

test("there may be more sessions than a call has arguments", () => {
  const sessions = Array.from({ length: 200_000 }, (_, index) => ({
    id: `${1_000_000 + index}`,
    name: "sh",
  }));
  expect(shortIds(sessions).get("1000007")).toBe("1000007");
});
