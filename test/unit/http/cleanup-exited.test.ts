import { expect, test } from "vitest";
import { cleanUpExited } from "../../../src/http/routes/cleanup-exited.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { type RemovalCondition, stillRunning } from "../../../src/sessions/backend.ts";
import { record } from "../cli/record.ts";

function machine(records: readonly SessionRecord[], refuse: (id: string) => ServiceError | undefined) {
  const removed: string[] = [];
  return {
    removed,
    list: async () => records,
    remove: async (id: string, condition?: RemovalCondition) => {
      expect(condition).toBe("exited");
      const refusal = refuse(id);
      if (refusal !== undefined) throw refusal;
      removed.push(id);
      return { success: true, status: "removed" } as const;
    },
  };
}

const ended = (id: string, remoteName?: string): SessionRecord => ({
  ...record({ id, status: "exited" }),
  ...(remoteName === undefined ? {} : { remoteName }),
});

test("an HQ answers with one entry for each remote, errors included, and counts its own separately", async () => {
  const all = [ended("own"), ended("a", "up"), ended("b", "away"), ended("gone", "up"), ended("again", "up")];
  const sessions = machine([...all, record({ id: "running" })], (id) => {
    if (id === "b") return new ServiceError("remote_unreachable", "remote away is out of reach");
    // Another client removed it, and started a session with the same id.
    if (id === "again") return stillRunning(id);
    return id === "gone" ? new ServiceError("session_not_found", "no session gone") : undefined;
  });
  expect(await cleanUpExited(sessions, ["up", "away", "empty"])).toEqual({
    success: true,
    message: "2 exited sessions cleaned up across all servers",
    localCleaned: 1,
    cleanedSessions: ["own", "a"],
    remoteResults: [
      { remoteName: "up", cleaned: 1 },
      { remoteName: "away", cleaned: 0, error: "remote away is out of reach" },
      { remoteName: "empty", cleaned: 0 },
    ],
  });
  expect(sessions.removed.toSorted()).toEqual(["a", "own"]);
});
