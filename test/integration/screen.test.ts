import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterAll, expect, test } from "vitest";
import { Screens } from "../../src/sessions/screen/screens.ts";
import type { ScreenSource } from "../../src/sessions/screen/thread/message.ts";
import { decodeSnapshot } from "../../src/web/previews/decode-snapshot.ts";

const directory = mkdtempSync(join(tmpdir(), "ttyhq-screens-"));
const PLAIN_TEXT = { kind: "text", scrollback: false, styles: false } as const;
const DRAWING = { kind: "resync" } as const;
let count = 0;

afterAll(() => rmSync(directory, { recursive: true }));

function source(bytes: string, cols = 20): ScreenSource & { output: string; checkpointPath: string } {
  const id = `session-${++count}`;
  const output = join(directory, id);
  writeFileSync(output, bytes);
  return {
    ...{ id, output, checkpointPath: join(directory, `${id}.checkpoint`) },
    upTo: Buffer.byteLength(bytes),
    sizes: [{ offset: 0, cols, rows: 5 }],
  };
}

function textOf(
  screens: Screens,
  shown: ScreenSource,
  view: { styles: boolean } = PLAIN_TEXT,
): Promise<string> {
  return screens.view(shown, { ...PLAIN_TEXT, ...view }).then(({ bytes }) => new TextDecoder().decode(bytes));
}

/** Takes about a second to parse. */
function longOutput(): string {
  return "\x1b[Hall of this is parsed\r\n".repeat(800_000);
}

test("a screen is seen as bytes to draw it, as text and as cells", async () => {
  await using screens = new Screens();
  const shown = source("one\r\n\x1b[31mtwo\x1b[");
  const resync = await screens.view(shown, DRAWING);
  expect(resync).toMatchObject({ offset: shown.upTo, size: { cols: 20, rows: 5 } });
  const drawing = new TextDecoder().decode(resync.bytes);
  expect(drawing).toMatch(/one.*two/s);
  expect(drawing.endsWith("\x1b[")).toBe(true);
  expect(await textOf(screens, shown)).toBe("one\ntwo");
  expect(await textOf(screens, shown, { styles: true })).toBe('one\n[style fg="1"]two[/style]');
  const { offset, bytes } = await screens.view(shown, { kind: "buffer" });
  expect(offset).toBe(shown.upTo);
  expect(decodeSnapshot(bytes)).toMatchObject({ cols: 20, cursorX: 3, cursorY: 1 });
});

test("output that grows is seen, and so is a session of the same id after it was forgotten", async () => {
  await using screens = new Screens();
  const shown = source("one");
  expect(await textOf(screens, { ...shown, upTo: 2 })).toBe("on");
  expect(await textOf(screens, shown)).toBe("one");
  screens.forget(shown.id);
  writeFileSync(shown.output, "two");
  expect(await textOf(screens, shown)).toBe("two");
});

test("a session with missing output fails without affecting others", async () => {
  await using screens = new Screens();
  const lost = { ...source(""), output: join(directory, "nowhere"), upTo: 10 };
  const [failed, shown] = await Promise.allSettled([
    screens.view(lost, DRAWING),
    textOf(screens, source("text")),
  ]);
  expect(failed).toMatchObject({ reason: { code: "internal_error" } });
  expect(shown).toMatchObject({ value: "text" });
});

test("slow work is cancelled, but finished parts are kept", async () => {
  await using screens = new Screens({ timeoutMs: 100 });
  const shown = source(longOutput(), 80);
  await expect(textOf(screens, shown)).rejects.toMatchObject({
    code: "internal_error",
    message: expect.stringContaining("takes too long"),
  });
  await expect
    .poll(() => textOf(screens, shown).catch(() => ""), { timeout: 60_000 })
    .toBe("all of this is parsed");
});

test("when the thread dies all who wait are told, and the next one gets a new thread", async () => {
  await using screens = new Screens();
  const started: Promise<Worker[]> = once(process, "worker");
  const waiting = [longOutput(), "text"].map((output) => textOf(screens, source(output)));
  const [thread] = await started;
  await thread?.terminate();
  for (const result of await Promise.allSettled(waiting))
    expect(result).toMatchObject({ reason: { code: "internal_error" } });
  expect(await textOf(screens, source("text"))).toBe("text");
});

test("at the end those who wait are told, checkpoints are written and nothing is answered any more", async () => {
  const screens = new Screens();
  const shown = source("\x1b[Hall of this is parsed\r\n".repeat(10_000));
  await textOf(screens, shown);
  const waiting = expect(textOf(screens, source(longOutput()))).rejects.toMatchObject({
    code: "shutting_down",
  });
  await screens[Symbol.asyncDispose]();
  await waiting;
  expect(existsSync(shown.checkpointPath)).toBe(true);
  await expect(screens.view(shown, DRAWING)).rejects.toMatchObject({ code: "shutting_down" });
});

test("the thread keeps no process alive", async () => {
  const shown = source("text");
  const script = `
    import { Screens } from ${JSON.stringify(new URL("../../src/sessions/screen/screens.ts", import.meta.url).href)};
    const screens = new Screens();
    const { bytes } = await screens.view(${JSON.stringify(shown)}, ${JSON.stringify(PLAIN_TEXT)});
    console.log(new TextDecoder().decode(bytes));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    timeout: 60_000,
  });
  expect(stdout).toBe("text\n");
});
