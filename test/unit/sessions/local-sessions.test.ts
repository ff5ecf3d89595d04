// Sessions that have ended: none of these tests starts a program.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLogger } from "../../../src/log.ts";
import { LocalSessions } from "../../../src/sessions/local-sessions.ts";
import { Screens } from "../../../src/sessions/screen/screens.ts";
import { type ControlDir, openControlDir } from "../../../src/sessions/storage/control-dir.ts";

const AT = "2026-01-01T00:00:00.000Z";

/** The sessions of a new host. */
async function recovered(controlDir: ControlDir, stack: AsyncDisposableStack): Promise<LocalSessions> {
  const sessions = new LocalSessions({
    ...{ controlDir, env: {}, account: { user: "me", home: "/", shell: "/bin/sh" } },
    ...{ screens: stack.use(new Screens()), now: () => performance.now() },
    ...{ maxRecordingBytes: 1_000_000, recordInput: false },
    log: createLogger({ level: "silent", destination: { write: () => true } }),
  });
  stack.use(sessions);
  await sessions.recover();
  return sessions;
}

/** Sessions with an ended one, `one`, and all their events. */
async function endedSessions(stack: AsyncDisposableStack) {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-local-sessions-"));
  stack.defer(() => rm(directory, { recursive: true }));
  const controlDir = openControlDir(directory);
  const files = controlDir.session("one");
  await mkdir(files.directory);
  const exit = { code: 0, reason: "exit", at: AT, outputBytes: 5 };
  const stored = {
    ...{ id: "one", name: "n", command: ["sh"], cwd: "/", created: AT, pid: 1, shell: "/bin/sh" },
    ...{ cols: 80, rows: 24, exit },
  };
  await writeFile(files.record, JSON.stringify(stored));
  for (const path of [files.output, files.events, files.recording]) await writeFile(path, "12345");
  const sessions = await recovered(controlDir, stack);
  const told: (readonly [string, string | undefined])[] = [];
  stack.use(sessions.watch(({ type, sessionId }) => told.push([type, sessionId])));
  return { controlDir, sessions, told };
}

test("the removal of a session is reported before its id is free", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, told } = await endedSessions(stack);
  const removing = sessions.remove("one");
  expect(await sessions.list()).toEqual([]);
  expect(told).toEqual([["session-removed", "one"]]);
  expect(await removing).toEqual({ success: true, status: "removed" });
  expect(told).toHaveLength(1);
});

test("a session that may only be ended is not removed once it has ended", async () => {
  await using stack = new AsyncDisposableStack();
  const { controlDir, sessions, told } = await endedSessions(stack);
  expect(await sessions.remove("one", "running")).toEqual({ success: true, status: "exited", exitCode: 0 });
  expect(await sessions.list()).toMatchObject([{ id: "one", status: "exited" }]);
  expect(await readFile(controlDir.session("one").recording, "utf8")).toBe("12345");
  expect(told).toEqual([]);
});

test("the removal is reported even if the files cannot be removed", async () => {
  await using stack = new AsyncDisposableStack();
  const { controlDir, sessions, told } = await endedSessions(stack);
  await rm(controlDir.sessions, { recursive: true });
  await writeFile(controlDir.sessions, "no directory");
  await expect(sessions.remove("one")).rejects.toMatchObject({ code: "ENOTDIR" });
  expect(await sessions.list()).toEqual([]);
  expect(told).toEqual([["session-removed", "one"]]);
});

test("a session that is renamed while it is removed stays removed", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, told } = await endedSessions(stack);
  const renaming = sessions.rename("one", "other");
  await sessions.remove("one");
  await renaming;
  expect(told).toEqual([["session-removed", "one"]]);
});

test.each([
  { kind: "recording", follow: false },
  { kind: "output", from: 0, to: 5 },
] as const)(
  "a view of $kind whose session is removed before it is read breaks off: it is not whole",
  async (view) => {
    await using stack = new AsyncDisposableStack();
    const { sessions } = await endedSessions(stack);
    const { length, body } = await sessions.view("one", view, new AbortController().signal);
    expect(length).toBe(5);
    await sessions.remove("one");
    await expect(Array.fromAsync(body)).rejects.toMatchObject({ code: "ENOENT" });
  },
);

test("a session whose end was stored, but not the end of its journal, is recorded with all its output", async () => {
  await using stack = new AsyncDisposableStack();
  const { controlDir } = await endedSessions(stack);
  const { events, recording } = controlDir.session("one");
  await rm(recording);
  await writeFile(events, '[0.000000,3,"o"]\n[0.5');
  const sessions = await recovered(controlDir, stack);
  await sessions[Symbol.asyncDispose]();
  const [, ...lines] = (await readFile(recording, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).slice(1))).toEqual([
    ["o", "123"],
    ["o", "45"],
    ["m", "the session host was lost"],
  ]);
});
