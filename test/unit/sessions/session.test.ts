import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseEventLine } from "../../../src/sessions/journal/event.ts";
import { createFiles, Journal } from "../../../src/sessions/journal/journal.ts";
import { Session } from "../../../src/sessions/session.ts";
import { SessionMeter } from "../../../src/sessions/session-meter.ts";
import { sessionFiles } from "../../../src/sessions/storage/control-dir.ts";
import { triedWithoutDescriptors } from "./without-descriptors.ts";

const STORED = {
  ...{ id: "one", name: "n", command: ["sh"], cwd: "/", created: "2026-01-01T00:00:00.000Z", pid: 1 },
  ...{ cols: 80, rows: 24, shell: "/bin/sh" },
};

const SOURCE = new URL("../../../src/sessions/", import.meta.url).href;

test.concurrent.each([
  { known: "is known", note: "session.noteStart(startTicks(child.pid));" },
  { known: "is not known", note: "" },
])(
  "a session whose start $known and that could not be ended for want of a file descriptor is ended when it is asked for again",
  async ({ note }) => {
    const before = `
      import { spawn } from "node:child_process";
      import { startTicks } from "${SOURCE}pty/process-tree.ts";
      import { Session } from "${SOURCE}session.ts";
      const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
      const options = { files: {}, sizes: [], recordInput: false, onEvent() {}, now: () => performance.now() };
      const session = new Session({ ...options, stored: ${JSON.stringify(STORED)} });
      const journal = { note() {}, flushed: async () => {}, close: async () => {} };
      session.start(journal, () => ({ pid: child.pid }));
      ${note}
      child.once("exit", (_, signal) => session.finish({ exitCode: 129, signal }));
      const end = () => session.end().then(() => session.record.exitSignal, ({ code }) => code);
    `;
    expect(await triedWithoutDescriptors(before, "end()")).toBe("EMFILE,SIGHUP");
  },
);

test("a character that is typed in two pieces is recorded whole", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-session-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true }));
  const files = sessionFiles(directory);
  const options = {
    ...{ maxBytes: 1_000_000, meter: new SessionMeter(() => 0), onPressure: () => {}, onGap: () => {} },
    onFailure: (error: unknown) => expect.unreachable(`${error}`),
  };
  const journal = new Journal(options, await createFiles(files));
  const session = new Session({
    ...{ files, stored: STORED, sizes: [], recordInput: true, onEvent: () => {}, now: () => 0 },
  });
  session.start(journal, () => ({
    ...{ pid: 1, pendingInputBytes: 0, write: () => {}, resize: () => {}, pause: () => {}, resume: () => {} },
    [Symbol.dispose]: () => {},
  }));
  const text = new TextEncoder().encode("a\u{1F600}b");
  for (const piece of [text.subarray(0, 2), text.subarray(2, 4), text.subarray(4)]) session.write(piece);
  await session.finish({ exitCode: 0 });
  const lines = (await readFile(files.events, "utf8")).trimEnd().split("\n");
  const typed = lines.map(parseEventLine).filter((event) => event?.kind === "i");
  expect(typed.map((event) => event?.data)).toEqual(["a", "\u{1F600}b"]);
});
