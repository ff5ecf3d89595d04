// Recovery of the journal of a killed host, torn at any byte.
import { cp, mkdir, mkdtemp, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  eventLine,
  gapEvent,
  type JournalEvent,
  parseEventLine,
} from "../../../../src/sessions/journal/event.ts";
import { createFiles, Journal } from "../../../../src/sessions/journal/journal.ts";
import { castText } from "../../../../src/sessions/journal/recording.ts";
import { SessionMeter } from "../../../../src/sessions/session-meter.ts";
import { type ControlDir, openControlDir } from "../../../../src/sessions/storage/control-dir.ts";
import { type Recovered, recoverSessions } from "../../../../src/sessions/storage/recovery.ts";
import type { StoredSession } from "../../../../src/sessions/storage/stored-session.ts";

const CUT_BYTES = 200;
const STORED: StoredSession = {
  ...{
    id: "one",
    name: "n",
    command: ["sh"],
    cwd: "/",
    created: "2026-01-01T00:00:00.000Z",
    pid: 999_999_999,
  },
  ...{ startTicks: 1, cols: 80, rows: 24, shell: "/bin/sh" },
};

let directory: string;
/** The session that was being written when its host was killed. */
let whole: { output: Uint8Array; events: Uint8Array };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "ttyhq-recovery-"));
  const source = await emptySession("source");
  const options = {
    maxBytes: 1_000_000,
    meter: new SessionMeter(() => 0),
    onPressure: () => {},
    onGap: () => {},
    onFailure: (error: unknown) => {
      throw error;
    },
  };
  const journal = new Journal(options, await createFiles(source.session(STORED.id)));
  const encoder = new TextEncoder();
  let offset = 0;
  const note = (time: number, kind: "r" | "m", data: string): void =>
    journal.note({ time, offset, kind, data });
  note(0, "r", "80x24");
  for (let round = 1; round <= 24; round++) {
    const bytes = encoder.encode(`line ${round} \u65e5\u{1F600}\r\n`);
    journal.append(bytes, round / 7);
    offset += bytes.length;
    if (round % 4 === 0) note(round / 7, "r", `${80 + round}x${24 + round}`);
    if (round % 5 === 0) note(round / 7, "m", `marker "${round}" \u65e5`);
  }
  await journal.close();
  const files = source.session(STORED.id);
  whole = { output: await readFile(files.output), events: await readFile(files.events) };
});
afterAll(() => rm(directory, { recursive: true }));

async function emptySession(name: string): Promise<ControlDir> {
  const controlDir = openControlDir(join(directory, name));
  const files = controlDir.session(STORED.id);
  await mkdir(files.directory);
  await writeFile(files.record, JSON.stringify(STORED));
  return controlDir;
}

async function recover(controlDir: ControlDir): Promise<Recovered> {
  const [recovered, ...others] = await recoverSessions(controlDir, (id, error) => {
    throw new Error(`${id} is not readable`, { cause: error });
  });
  if (recovered === undefined || others.length > 0) throw new Error("not one session");
  return recovered;
}

/** Recovers the session from that many bytes of its files. Returns the files' content afterwards too. */
async function recoverCut(outputBytes: number, eventBytes: number) {
  const controlDir = await emptySession(`cut-${outputBytes}-${eventBytes}`);
  const files = controlDir.session(STORED.id);
  await writeFile(files.output, whole.output.subarray(0, outputBytes));
  await writeFile(files.events, whole.events.subarray(0, eventBytes));
  const recovered = await recover(controlDir);
  const text = await readFile(files.events, "utf8");
  return { controlDir, files, recovered, text, events: eventsOf(text) };
}

function eventsOf(text: string): JournalEvent[] {
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => {
      const event = parseEventLine(line);
      if (event === undefined) throw new Error(`no record: ${line}`);
      expect(eventLine(event)).toBe(`${line}\n`);
      return event;
    });
}

async function expectSound(cut: Awaited<ReturnType<typeof recoverCut>>, outputBytes: number): Promise<void> {
  const { recovered, files, events } = cut;
  expect(recovered.wasLost).toBe(true);
  expect(recovered.stored.exit).toMatchObject({ code: 129, reason: "host_lost", outputBytes });
  expect((await stat(files.output)).size).toBe(outputBytes);
  for (const [index, { time, offset }] of events.entries()) {
    expect(time).toBeGreaterThanOrEqual(events[index - 1]?.time ?? 0);
    expect(offset).toBeGreaterThanOrEqual(events[index - 1]?.offset ?? 0);
  }
  expect(events.slice(-2)).toMatchObject([
    { kind: "m", offset: outputBytes, data: "the session host was lost" },
    { kind: "x", offset: outputBytes, data: "129 host_lost" },
  ]);
  // Every byte that is on disk is in the recording, and every size in force is known.
  const lines = Buffer.concat(await Array.fromAsync(castText(recovered.stored, files)))
    .toString()
    .trimEnd()
    .split("\n");
  const output = lines
    .slice(1)
    .map((line) => JSON.parse(line))
    .filter(([, kind]) => kind === "o");
  expect(output.map(([, , data]) => data).join("")).toBe(
    new TextDecoder().decode(whole.output.subarray(0, outputBytes)),
  );
  const sizes = events.filter(({ kind }) => kind === "r").map(({ offset, data }) => `${data}@${offset}`);
  const expected = sizes.length === 0 ? ["80x24@0"] : sizes;
  expect(recovered.sizes.map(({ cols, rows, offset }) => `${cols}x${rows}@${offset}`)).toEqual(expected);
  expect(`${recovered.stored.cols}x${recovered.stored.rows}`).toBe(expected.at(-1)?.split("@")[0]);
}

test("a complete journal without an exit belongs to a lost session", async () => {
  await expectSound(await recoverCut(whole.output.length, whole.events.length), whole.output.length);
});

test("records torn at any of the last 200 bytes: whole ones are kept, and no output is", async () => {
  for (let cut = 1; cut <= CUT_BYTES; cut++) {
    const eventBytes = whole.events.length - cut;
    const result = await recoverCut(whole.output.length, eventBytes);
    await expectSound(result, whole.output.length);
    const kept = new TextDecoder().decode(whole.events.subarray(0, eventBytes)).split("\n").slice(0, -1);
    expect(result.text.startsWith(kept.map((line) => `${line}\n`).join(""))).toBe(true);
    expect(result.events.length).toBeLessThanOrEqual(kept.length + 3);
  }
});

test("output torn at any of the last 200 bytes: what records say of the rest is dropped", async () => {
  for (let cut = 1; cut <= CUT_BYTES; cut++) {
    const outputBytes = whole.output.length - cut;
    await expectSound(await recoverCut(outputBytes, whole.events.length), outputBytes);
  }
});

test("both files torn at any byte", async () => {
  for (const outputBytes of [0, 1, 17, 100, whole.output.length - 1]) {
    for (const eventBytes of [0, 1, 20, 21, 22, 60, 200, whole.events.length - 1]) {
      await expectSound(await recoverCut(outputBytes, eventBytes), outputBytes);
    }
  }
});

test("a block of zeros, as after a power cut, ends the records", async () => {
  const controlDir = await emptySession("zeros");
  const files = controlDir.session(STORED.id);
  await writeFile(files.output, whole.output);
  await writeFile(files.events, [whole.events.subarray(0, 150), new Uint8Array(512)]);
  const recovered = await recover(controlDir);
  expect(recovered.stored.exit).toMatchObject({ outputBytes: whole.output.length });
  expect(await readFile(files.events, "utf8")).not.toContain("\0");
});

test("an interrupted recovery can be repeated", async () => {
  const first = await recoverCut(whole.output.length - 5, whole.events.length - 50);
  const again = await recover(first.controlDir);
  expect(again.stored.exit).toMatchObject({
    code: 129,
    reason: "host_lost",
    outputBytes: whole.output.length - 5,
  });
  expect(await readFile(first.files.events, "utf8")).toBe(first.text);
  for (let cut = 1; cut <= 120; cut += 7) {
    await truncate(first.files.events, first.text.length - cut);
    const recovered = await recover(first.controlDir);
    expect(recovered.stored.exit).toMatchObject({
      code: 129,
      reason: "host_lost",
      outputBytes: whole.output.length - 5,
    });
    expect(eventsOf(await readFile(first.files.events, "utf8")).at(-1)).toMatchObject({ kind: "x" });
    await writeFile(first.files.events, first.text);
  }
});

test.each([
  ["0", { code: 0, reason: "exit" }],
  ["3", { code: 3, reason: "exit" }],
  ["137 SIGKILL", { code: 137, reason: "signal", signal: "SIGKILL" }],
])("an exit %j that the host had no time to store is the session's exit", async (data, exit) => {
  const controlDir = await emptySession(`exit-${data}`);
  const files = controlDir.session(STORED.id);
  await writeFile(files.output, whole.output);
  const record = eventLine({ time: 9, offset: whole.output.length, kind: "x", data });
  await writeFile(files.events, [whole.events, new TextEncoder().encode(record)]);
  const { stored } = await recover(controlDir);
  expect(stored.exit).toMatchObject({ ...exit, outputBytes: whole.output.length });
});

test("an exit after the end of a stopped recording is valid", async () => {
  const controlDir = await emptySession("stopped");
  const files = controlDir.session(STORED.id);
  await writeFile(files.output, whole.output);
  await writeFile(files.events, [
    whole.events,
    new TextEncoder().encode(eventLine({ time: 9, offset: 5_000_000, kind: "x", data: "4" })),
  ]);
  const { stored } = await recover(controlDir);
  expect(stored.exit).toMatchObject({ code: 4, reason: "exit", outputBytes: 5_000_000 });
});

/** 100 bytes, a gap of 1,000 with a resize in it, and 50 bytes more. */
const GAP = { from: 100, to: 1_100 };
const GAPPED = {
  output: Uint8Array.from({ length: 150 }, (_, index) => 65 + (index % 26)),
  events: [
    eventLine({ time: 0, offset: 0, kind: "r", data: "80x24" }),
    eventLine({ time: 1, offset: 100, kind: "o" }),
    eventLine(gapEvent(GAP, 2)),
    eventLine({ time: 2, offset: 1_100, kind: "r", data: "90x30" }),
    eventLine({ time: 3, offset: 1_150, kind: "o" }),
  ].join(""),
};

test("a journal with a gap, torn at any byte of either file, keeps its offsets", async () => {
  const eventBytes = GAPPED.events.length;
  const recordedGap = GAPPED.events.indexOf('"g"') + '"g","100"]\n'.length;
  for (const outputBytes of [0, 50, 99, 100, 101, 149, 150]) {
    for (let cut = 0; cut <= eventBytes; cut++) {
      const controlDir = await emptySession(`gap-${outputBytes}-${cut}`);
      const files = controlDir.session(STORED.id);
      await writeFile(files.output, GAPPED.output.subarray(0, outputBytes));
      await writeFile(files.events, GAPPED.events.slice(0, cut));
      const { stored, gaps } = await recover(controlDir);
      // Output is on disk before its record, but after that of the gap before it: the rest is no journal of ours.
      const hasGap = cut >= recordedGap && outputBytes >= GAP.from;
      expect(gaps).toEqual(hasGap ? [GAP] : []);
      expect(stored.exit?.outputBytes).toBe(outputBytes + (hasGap ? 1_000 : 0));
      const cast = Buffer.concat(await Array.fromAsync(castText(stored, files))).toString();
      const lines = cast.trimEnd().split("\n").slice(1);
      const events = lines.map((line): [number, string, string] => JSON.parse(line));
      const output = events.flatMap(([, kind, data]) => (kind === "o" ? [data] : [])).join("");
      expect(output).toBe(new TextDecoder().decode(GAPPED.output.subarray(0, outputBytes)));
      const markers = events.flatMap(([, kind, data]) => (kind === "m" ? [data] : []));
      const lost = "the session host was lost";
      expect(markers).toEqual(
        hasGap ? ["recording interrupted: 1000 bytes of output are missing here", lost] : [lost],
      );
      await rm(files.directory, { recursive: true });
    }
  }
});

test("an ended session keeps its record and recording", async () => {
  const controlDir = await emptySession("ended");
  const files = controlDir.session(STORED.id);
  const exit = { code: 1, reason: "exit", at: "2026-01-01T00:00:01.000Z", outputBytes: whole.output.length };
  await writeFile(files.record, JSON.stringify({ ...STORED, exit }));
  await writeFile(files.output, whole.output);
  await writeFile(files.events, whole.events);
  expect(await recover(controlDir)).toMatchObject({ stored: { exit }, wasLost: false, isRecorded: false });
  // As after a power cut: a name is on the disk before the bytes.
  await writeFile(files.recording, "");
  expect(await recover(controlDir)).toMatchObject({ wasLost: false, isRecorded: false });
  await writeFile(files.recording, "{}");
  expect(await recover(controlDir)).toMatchObject({ wasLost: false, isRecorded: true });
  expect(await readFile(files.events)).toEqual(Buffer.from(whole.events));
});

test("an unreadable session is reported and hides no other", async () => {
  const controlDir = await emptySession("strange");
  const good = controlDir.session(STORED.id);
  await writeFile(good.output, whole.output);
  await writeFile(good.events, whole.events);
  for (const [id, record] of [
    ["torn", "{"],
    ["empty", ""],
    ["other", JSON.stringify({ id: "other" })],
  ] as const) {
    await mkdir(controlDir.session(id).directory);
    await writeFile(controlDir.session(id).record, record);
  }
  await mkdir(controlDir.session("nothing").directory);
  await cp(good.directory, controlDir.session("copy").directory, { recursive: true });
  const unreadable: string[] = [];
  const recovered = await recoverSessions(controlDir, (id) => unreadable.push(id));
  expect(recovered.map(({ stored }) => stored.id)).toEqual(["one"]);
  expect(unreadable.sort()).toEqual(["empty", "nothing", "other", "torn"]);
});

test("a session has ended when its host was lost, not at its last output; one with a recorded exit at that", async () => {
  const ending = async (name: string, written: Date, exit: string): Promise<number> => {
    const controlDir = await emptySession(name);
    const { output, events } = controlDir.session(STORED.id);
    await writeFile(output, whole.output);
    await writeFile(events, Buffer.concat([whole.events, Buffer.from(exit)]));
    for (const path of [output, events]) await utimes(path, written, written);
    return Date.parse((await recover(controlDir)).stored.exit?.at ?? "");
  };
  const now = Date.now();
  const longAgo = new Date("2026-01-02T00:00:00.000Z");
  expect(await ending("silent", longAgo, "")).toBeGreaterThanOrEqual(now);
  // The clock of a machine may be behind until it has asked for the time.
  const later = new Date(Math.ceil(now / 1000) * 1000 + 3_600_000);
  expect(await ending("clock-behind", later, "")).toBe(later.getTime());
  const exit = eventLine({ time: 9, offset: whole.output.length, kind: "x", data: "0" });
  expect(await ending("exited", longAgo, exit)).toBe(longAgo.getTime());
});
