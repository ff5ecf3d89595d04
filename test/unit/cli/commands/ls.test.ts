import { expect, test } from "vitest";
import { filterOf, formatted, newestFirst, sessionTable } from "../../../../src/cli/commands/ls.ts";
import { record } from "../record.ts";

const now = Date.parse("2026-01-01T01:00:00.000Z");

test("sessions are listed newest first, whatever their order in the answer", () => {
  const old = record({ id: "old", created: "2025-12-31T23:00:00.000Z" });
  const young = record({ id: "young", created: "2026-01-01T00:59:00.000Z" });
  expect(newestFirst([old, young]).map(({ id }) => id)).toEqual(["young", "old"]);
});

test("each session has a line with its status", () => {
  const sessions = [
    record({ id: "a", name: "b\x1b[31m", command: ["make", "-j8"], viewers: 2 }),
    record({ id: "b", status: "exited", exitCode: 7 }),
    record({ id: "c", status: "exited", exitCode: 137, exitSignal: "SIGKILL" }),
    record({ id: "d", status: "exited", exitReason: "host_lost" }),
  ];
  expect(sessionTable(sessions, { now, width: undefined }).split("\n")).toEqual([
    "ID  NAME       STATUS          SIZE   AGE    VIEWERS  COMMAND",
    "a   b\\x1b[31m  running         80x24  1h 0m  2        make -j8",
    "b   sh         exited 7        80x24  1h 0m  0        sh",
    "c   sh         exited SIGKILL  80x24  1h 0m  0        sh",
    "d   sh         host lost       80x24  1h 0m  0        sh",
    "",
  ]);
});

test("control characters in ids and signals, which another program's remote chooses, are escaped", () => {
  const session = record({ id: "\x1b[2J", status: "exited", exitSignal: "\x1b]0;x\x07" });
  expect(sessionTable([session], { now, width: undefined }).split("\n")[1]).toBe(
    "\\x1b[2J  sh    exited \\x1b]0;x\\x07  80x24  1h 0m  0        sh",
  );
});

test("branches have a column if any session has one, and control characters in their names are escaped", () => {
  const sessions = [
    record({ id: "a", gitRepoPath: "/r", gitBranch: "topic/\x1b]0;x\x07" }),
    record({ id: "b", gitRepoPath: "/r", gitBranch: "" }),
    record({ id: "c" }),
  ];
  expect(sessionTable(sessions, { now, width: undefined }).split("\n")).toEqual([
    "ID  NAME  STATUS   SIZE   AGE    VIEWERS  BRANCH              COMMAND",
    "a   sh    running  80x24  1h 0m  0        topic/\\x1b]0;x\\x07  sh",
    "b   sh    running  80x24  1h 0m  0        (detached)          sh",
    "c   sh    running  80x24  1h 0m  0                            sh",
    "",
  ]);
});

test("at 80 columns ids are short, the status is whole, and an HQ's machines are shown", () => {
  const name = "a session with a name that is longer than anybody wants to read";
  const sessions = [
    record({
      id: "0b9d8f0e-0001",
      name,
      source: "build-1",
      exitCode: 137,
      exitSignal: "SIGKILL",
      status: "exited",
    }),
    record({ id: "0b9d8f0e-0002", source: "local", endRequested: true, status: "exited" }),
    record({ id: "7f3a8f0e-0003", name: "0b9d", source: "local" }),
  ];
  const lines = sessionTable(sessions, { now, width: 80 }).split("\n");
  expect(lines).toEqual([
    "ID             NAME                      STATUS          AGE    MACHINE  COMMAND",
    "0b9d8f0e-0001  a session with a name t…  exited SIGKILL  1h 0m  build-1  sh",
    "0b9d8f0e-0002  sh                        ended           1h 0m  local    sh",
    "7f3a8f0e-0003  0b9d                      running         1h 0m  local    sh",
    "",
  ]);
  const short = sessionTable([record({ id: "0b9d8f0e" }), record({ id: "0b9e8f0e" })], { now, width: 80 });
  expect(short).toMatch(/^ID {4}NAME.*\n0b9d {2}sh.*\n0b9e {2}sh/);
});

test.each([
  { exitCode: 7, shown: "exited 7" },
  { exitCode: 129, exitSignal: "SIGHUP", endRequested: true, shown: "ended" },
  { exitReason: "host_lost", shown: "host lost" },
] as const)(
  "an exited session is found by its status in the JSON and as shown: $shown",
  ({ shown, ...end }) => {
    const session = record({ id: "a", status: "exited", ...end });
    expect(["exited", shown, "running"].map((status) => filterOf(`status=${status}`)(session))).toEqual([
      ...[true, true, false],
    ]);
  },
);

test("sessions are filtered by the text of a field, and printed in a custom format", () => {
  const session = record({ id: "a", name: "build", command: ["make", "-j8"], status: "exited", exitCode: 7 });
  expect(
    ["name=uil", "status=exited", "command=-j8", "machine="].map((text) => filterOf(text)(session)),
  ).toEqual([...[true, true, true, true]]);
  expect(["name=x", "status=running", "branch=main"].map((text) => filterOf(text)(session))).toEqual([
    ...[false, false, false],
  ]);
  for (const text of ["size=3", "name", "constructor=x"])
    expect(() => filterOf(text)).toThrow("must be one of");
  expect(formatted("{id}\\t{command} {title}|{exitCode}", session)).toBe("a\tmake -j8 |7\n");
});
