import { expect, test } from "vitest";
import { SessionDirectory } from "../../../../src/protocol/directory/session-directory.ts";
import { MAX_RECORD_LENGTH } from "../../../../src/protocol/limits.ts";
import type { SessionRecord } from "../../../../src/protocol/schemas/session.ts";
import { AnySession } from "../../../../src/remote/specified/session-record.ts";

const MAX_LENGTH = 5_000;

function session(id: string, name = id): SessionRecord {
  return AnySession.parse({ id, name });
}

/** A directory of at most MAX_LENGTH, and the kinds of all that it has told. */
function limitedDirectory() {
  const directory = new SessionDirectory(MAX_LENGTH);
  const told: string[] = [];
  let revision = 0;
  const apply = (input: Parameters<SessionDirectory["apply"]>[0]): void => {
    for (const { kind } of directory.apply(input)) told.push(kind);
  };
  apply({ kind: "source-up", position: { epoch: "e", revision } });
  const list = (records: readonly SessionRecord[]): void =>
    apply({ kind: "list", request: 1, snapshot: { position: { epoch: "e", revision }, records } });
  const put = (record: SessionRecord): void => {
    revision += 1;
    apply({ kind: "change", change: { epoch: "e", revision, what: { kind: "put", record, isNew: true } } });
  };
  const remove = (record: SessionRecord): void => {
    revision += 1;
    const key = record.key ?? `${record.id} ${record.created}`;
    apply({ kind: "change", change: { epoch: "e", revision, what: { kind: "removed", key } } });
  };
  return { directory, told, list, put, remove };
}

const many = Array.from({ length: 100 }, (_, index) => session(`s${index}`));

test.each(["a list", "events"])("a source cannot fill the memory by %s", (way) => {
  const { directory, told, list, put } = limitedDirectory();
  list(way === "a list" ? many : []);
  if (way === "events") for (const record of many) put(record);
  const length = [...directory.records.values()].reduce(
    (sum, record) => sum + JSON.stringify(record).length,
    0,
  );
  expect(length).toBeLessThanOrEqual(MAX_LENGTH);
  expect(length).toBeGreaterThan(MAX_LENGTH / 2);
  expect(told.filter((kind) => kind === "session-refused")).toHaveLength(100 - directory.records.size);
});

test("changes that wait for a list do not fill the memory, and are found in the next one", () => {
  const { told, list, put } = limitedDirectory();
  for (const id of ["one", "other"]) put(session(id, "x".repeat(MAX_LENGTH - 500)));
  list([]);
  expect(told).toEqual(["list-wanted", "list-wanted"]);
});

test("a session that grows beyond the limit leaves the list, and a removed one makes room", () => {
  const { directory, told, list, put, remove } = limitedDirectory();
  list([session("one"), session("other")]);
  put(session("one", "x".repeat(MAX_LENGTH)));
  expect([...directory.records.values()].map(({ id }) => id)).toEqual(["other"]);
  expect(told.slice(-2)).toEqual(["session-removed", "session-refused"]);
  const large = session("large", "x".repeat(MAX_LENGTH - 500));
  put(large);
  expect(directory.byId("large")).toBeUndefined();
  remove(session("other"));
  put(large);
  expect(directory.byId("large")).toEqual(large);
});

test("a session whose record is longer than any of ours is left out, also by a source without a limit", () => {
  const directory = new SessionDirectory();
  const records = [session("one", "x".repeat(MAX_RECORD_LENGTH)), session("other")];
  directory.apply({ kind: "source-up", position: undefined });
  directory.apply({ kind: "list", request: 1, snapshot: { position: undefined, records } });
  expect([...directory.records.values()].map(({ id }) => id)).toEqual(["other"]);
});

test.each(["x".repeat(257), "ü".repeat(129)])("a session whose id no frame can carry is left out", (id) => {
  const { directory, told, list, put } = limitedDirectory();
  list([session(id), session("ü".repeat(128))]);
  put(session(id, "renamed"));
  expect([...directory.records.values()].map((record) => record.id)).toEqual(["ü".repeat(128)]);
  expect(told.filter((kind) => kind === "session-refused")).toHaveLength(2);
});

test("a source that changes the id of a session leaves no session with the former id", () => {
  const { directory, told, list, put } = limitedDirectory();
  list([]);
  for (const id of ["one", "other"]) put({ ...session(id), key: "key" });
  expect(directory.byId("one")).toBeUndefined();
  expect(directory.byId("other")?.id).toBe("other");
  expect(told.slice(-3)).toEqual(["session-start", "session-removed", "session-start"]);
});
