import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import type { SessionRecord } from "../../../../src/protocol/schemas/session.ts";
import type { ListOrder } from "../../../../src/web/preferences.ts";
import { fuzzyFind, ListFilter } from "../../../../src/web/sessions/list-filter.ts";
import { session } from "../hq.ts";

function named(name: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return { ...session(name), name, ...more };
}

function filterOf(records: readonly SessionRecord[], order: ListOrder = "newest") {
  const current = signal({ fontSizePx: 14, screenReader: false, machine: "", order });
  const filter = new ListFilter({ all: signal(records), preferences: { current } });
  return { filter, names: () => filter.shown.value?.map(({ name }) => name) };
}

test("a session is shown that has every word, wherever it stands and in whatever order", () => {
  const records = [
    named("api", { cwd: "/srv/shop", source: "berlin" }),
    named("web", { cwd: "/srv/shop" }),
    named("api", { command: ["make", "watch"], source: "paris" }),
  ];
  const { filter, names } = filterOf(records);
  filter.text.value = "Berlin API";
  expect(filter.shown.value).toEqual([records[0]]);
  filter.text.value = " watch ";
  expect(filter.shown.value).toEqual([records[2]]);
  filter.text.value = "shop";
  expect(names()).toEqual(["api", "web"]);
  filter.text.value = "";
  expect(filter.isOn.value).toBe(false);
  expect(filter.shown.value).toEqual(records);
});

test("the states are told apart", () => {
  const { filter, names } = filterOf([named("one"), named("two", { status: "exited" })]);
  filter.state.value = "running";
  expect(names()).toEqual(["one"]);
  filter.state.value = "ended";
  expect(names()).toEqual(["two"]);
});

test("numbers in names are ordered as numbers, and ended sessions come last", () => {
  const { names } = filterOf([named("job 10"), named("job 1", { status: "exited" }), named("job 9")], "name");
  expect(names()).toEqual(["job 9", "job 10", "job 1"]);
});

test("by machine the HQ's own sessions come first, and those of each machine stay together", () => {
  const records = ["web", "build", "local", "web"].map((source, at) =>
    named(`${at} on ${source}`, { source }),
  );
  expect(filterOf(records, "machine").names()).toEqual(["2 on local", "1 on build", "0 on web", "3 on web"]);
  expect(filterOf([named("late"), named("early")], "machine").names()).toEqual(["late", "early"]);
});

test("activity is the latest known state", () => {
  const records = [
    named("early", { lastModified: "2026-01-01T00:00:00Z" }),
    named("late", { lastModified: "2026-01-02T00:00:00Z" }),
  ];
  const { filter, names } = filterOf(records, "activity");
  expect(names()).toEqual(["late", "early"]);
  filter.heard([named("early", { lastModified: "2026-01-03T00:00:00Z" })]);
  expect(names()).toEqual(["early", "late"]);
});

test("letters find names in which they follow each other, beginnings of words first", () => {
  const records = ["swerve", "web server", "worker", "database"].map((name) => named(name));
  const found = (letters: string) => fuzzyFind(letters, records).map(({ name }) => name);
  expect(found("wse")).toEqual(["web server"]);
  expect(found("we")[0]).toBe("web server");
  expect(found("xyz")).toEqual([]);
  expect(found("")).toHaveLength(4);
});
