import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { EXIT_WAIT_MS } from "../../../src/protocol/limits.ts";
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
  { known: "is known", take: "" },
  { known: "is not known", take: 'try { for (;;) taken.push(openSync("/dev/null")); } catch {}' },
])(
  "a session whose start $known and that could not be ended for want of a file descriptor is ended when it is asked for again",
  async ({ take }) => {
    const before = `
      import { spawn } from "node:child_process";
      import { Session } from "${SOURCE}session.ts";
      const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
      const options = { files: {}, sizes: [], recordInput: false, onEvent() {}, now: () => performance.now() };
      const session = new Session({ ...options, stored: ${JSON.stringify(STORED)} });
      const journal = { note() {}, flushed: async () => {}, close: async () => {} };
      const taken = [];
      session.start(journal, () => {
        ${take}
        return { pid: child.pid };
      });
      taken.forEach((fd) => closeSync(fd));
      if ((session.stored.startTicks === undefined) !== ${take !== ""}) throw new Error("another start");
      child.once("exit", (_, signal) => session.finish({ exitCode: 129, signal }));
      const end = () => session.end().then(() => session.record.exitSignal, ({ code }) => code);
    `;
    expect(await triedWithoutDescriptors(before, "end()")).toBe("EMFILE,SIGHUP");
  },
);

/** A session whose program has started, with its journal in a new directory. */
async function startedSession(stack: AsyncDisposableStack, pid = 1) {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-session-"));
  stack.defer(() => rm(directory, { recursive: true }));
  const files = sessionFiles(directory);
  const options = {
    ...{ maxBytes: 1_000_000, meter: new SessionMeter(() => 0), onPressure: () => {}, onGap: () => {} },
    onFailure: (error: unknown) => expect.unreachable(`${error}`),
  };
  const journal = new Journal(options, await createFiles(files));
  const told: string[] = [];
  const clock = { ms: 0 };
  const session = new Session({
    ...{ files, stored: STORED, sizes: [], recordInput: true, now: () => clock.ms },
    onEvent: (_, type) => told.push(type),
  });
  session.start(journal, () => ({
    ...{ pid, pendingInputBytes: 0, write: () => {}, resize: () => {}, pause: () => {}, resume: () => {} },
    [Symbol.dispose]: () => {},
  }));
  const events = async () => (await readFile(files.events, "utf8")).trimEnd().split("\n").map(parseEventLine);
  return { session, events, told, clock };
}

test("a character that is typed in two pieces is recorded whole", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, events } = await startedSession(stack);
  const text = new TextEncoder().encode("a\u{1F600}b");
  for (const piece of [text.subarray(0, 2), text.subarray(2, 4), text.subarray(4)]) session.write(piece);
  await session.finish({ exitCode: 0 });
  const typed = (await events()).filter((event) => event?.kind === "i");
  expect(typed.map((event) => event?.data)).toEqual(["a", "\u{1F600}b"]);
});

test("a signal is sent by its name: systems differ in its number", async () => {
  await using stack = new AsyncDisposableStack();
  const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  const ended = once(child, "exit");
  const { pid = 0 } = child;
  const { session } = await startedSession(stack, pid);
  const sent = vi.spyOn(process, "kill");
  await session.kill("SIGUSR1");
  expect(sent.mock.calls).toEqual([[pid, "SIGUSR1"]]);
  sent.mockRestore();
  expect(await ended).toEqual([null, "SIGUSR1"]);
  await session.finish({ exitCode: 138, signal: "SIGUSR1" });
});

test("nothing is recorded after the exit, while that is written", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, events } = await startedSession(stack);
  const finishing = session.finish({ exitCode: 0 });
  const refusal = expect.objectContaining({ code: "session_not_running" });
  expect(() => session.mark("late")).toThrow(refusal);
  expect(() => session.resize({ cols: 100, rows: 30 })).toThrow(refusal);
  expect(() => session.write(new Uint8Array(1))).toThrow(refusal);
  await finishing;
  expect((await events()).map((event) => event?.kind)).toEqual(["r", "x"]);
  expect(session.size).toEqual({ cols: 80, rows: 24 });
});

test("output in very small pieces is not held for the first subscriber: each takes memory of its own", async () => {
  await using stack = new AsyncDisposableStack();
  const { session } = await startedSession(stack);
  for (let piece = 0; piece < 1_000; piece++) session.receive(Uint8Array.of(97));
  const { offset } = session.attach(() => {});
  expect(offset).toBe(1_000);
  await session.finish({ exitCode: 0 });
});

test("a session that is resized all the time keeps its first size and the latest ones", async () => {
  await using stack = new AsyncDisposableStack();
  const { session } = await startedSession(stack);
  for (let cols = 1; cols <= 5_000; cols++) {
    session.resize({ cols, rows: 24 });
    session.receive(Uint8Array.of(97));
  }
  const { sizes } = session;
  expect(sizes.length).toBe(1_000);
  expect(sizes[0]).toEqual({ cols: 1, rows: 24, offset: 0 });
  expect(sizes.slice(1).map(({ cols, offset }) => [cols, offset])).toEqual(
    Array.from({ length: 999 }, (_, index) => [4_002 + index, 4_001 + index]),
  );
  await session.finish({ exitCode: 0 });
});

test("a program that sets titles all the time is told of now and then, at last with its last title", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, told } = await startedSession(stack);
  const titles: string[] = [];
  session.attach((delivery) => {
    if (delivery.kind === "event" && delivery.event.kind === "title") titles.push(delivery.event.title);
  });
  for (let title = 0; title < 1_000; title++)
    session.receive(new TextEncoder().encode(`\x1b]2;${title}\x07`));
  session.flush();
  expect(session.record.title).toBe("999");
  await session.finish({ exitCode: 0 });
  expect(titles.at(-1)).toBe("999");
  expect(titles.length).toBeLessThan(10);
  expect(told.filter((type) => type === "session-changed").length).toBeLessThan(10);
});

test("a program that rings all the time is told of once a second", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, told, clock } = await startedSession(stack);
  for (clock.ms = 0; clock.ms < 2_500; clock.ms += 5) session.receive(Uint8Array.of(7));
  await session.finish({ exitCode: 0 });
  expect(told.filter((type) => type === "bell")).toHaveLength(3);
});

test("the end of a session whose program does not end is refused after a while", async () => {
  await using stack = new AsyncDisposableStack();
  const { session } = await startedSession(stack);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  stack.defer(() => void vi.useRealTimers());
  const refused = expect(session.end()).rejects.toMatchObject({ code: "session_running" });
  await vi.advanceTimersByTimeAsync(EXIT_WAIT_MS);
  await refused;
  vi.useRealTimers();
  await session.finish({ exitCode: 0 });
  expect(session.record).toMatchObject({ status: "exited", endRequested: true });
});
