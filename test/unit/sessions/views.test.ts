import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventLine } from "../../../src/sessions/journal/event.ts";
import { Screens } from "../../../src/sessions/screen/screens.ts";
import { Session } from "../../../src/sessions/session.ts";
import { sessionFiles } from "../../../src/sessions/storage/control-dir.ts";
import { openView } from "../../../src/sessions/views.ts";

const AT = "2026-01-01T00:00:00.000Z";
const EVENTS = 20_000;

test("events are read while the client takes them: a journal may consist of them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-views-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true }));
  const files = sessionFiles(directory);
  const sizes = Array.from({ length: EVENTS }, (_, index) => `${(index % 1000) + 1}x24`);
  const lines = sizes.map((data, time) => eventLine({ time, offset: 0, kind: "r", data }));
  await writeFile(files.events, lines.join(""));
  const session = new Session({
    ...{ files, recordInput: false, onEvent: () => {}, now: () => 0 },
    stored: {
      ...{ id: "one", name: "n", command: ["sh"], cwd: "/", created: AT, pid: 1, shell: "/bin/sh" },
      ...{ cols: 80, rows: 24, exit: { code: 0, reason: "exit", at: AT, outputBytes: 0 } },
    },
  });
  const screens = stack.use(new Screens());
  const { signal } = new AbortController();
  const { body } = await openView(session, { kind: "events", from: 0 }, screens, signal);
  const pieces = await Array.fromAsync(body);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(128 * 1024);
  const told = JSON.parse(Buffer.concat(pieces).toString());
  expect(told.map(({ data }: { data: string }) => data)).toEqual(sizes);
});
