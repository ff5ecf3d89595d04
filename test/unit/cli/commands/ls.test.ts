import { expect, test } from "vitest";
import { newestFirst, sessionTable } from "../../../../src/cli/commands/ls.ts";
import { record } from "../record.ts";

const now = Date.parse("2026-01-01T01:00:00.000Z");

test("sessions are listed newest first, however they come", () => {
  const old = record({ id: "old", created: "2025-12-31T23:00:00.000Z" });
  const young = record({ id: "young", created: "2026-01-01T00:59:00.000Z" });
  expect(newestFirst([old, young]).map(({ id }) => id)).toEqual(["young", "old"]);
});

test("each session has a line with what became of it", () => {
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

test("branches have a column where any session has one, without the sequences in their names", () => {
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
