import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";

/** A session object with these members, and defaults for the others. */
export function record(members: Partial<SessionRecord>): SessionRecord {
  const id = members.id ?? "a";
  return {
    id,
    sessionId: id,
    name: "sh",
    created: "2026-01-01T00:00:00.000Z",
    startedAt: "2026-01-01T00:00:00.000Z",
    status: "running",
    command: ["sh"],
    cwd: "/",
    workingDir: "/",
    cols: 80,
    rows: 24,
    lastModified: "2026-01-01T00:00:00.000Z",
    outputBytes: 0,
    viewers: 0,
    ...members,
  };
}
