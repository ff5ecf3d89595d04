// Recovers the sessions of the last session host from their files, which may be incomplete. Sessions that were running when
// it died end as "host_lost".
import { appendFile, readdir, readFile, stat, truncate } from "node:fs/promises";
import { basename } from "node:path";
import { isDiskFault } from "../../lib/fs/disk-care.ts";
import { parseSize } from "../../protocol/schemas/session.ts";
import {
  eventLine,
  exitData,
  type Gap,
  gapOf,
  type JournalEvent,
  type JournalExit,
  lostBefore,
  parseExitData,
  positionOf,
} from "../journal/event.ts";
import { fileBytes, readEvents } from "../journal/reader.ts";
import { addSize, type SessionOptions, type SizeChange } from "../session.ts";
import type { ControlDir, SessionFiles } from "./control-dir.ts";
import { folderRemoval, sessionFolders } from "./session-folder.ts";
import { StoredSession } from "./stored-session.ts";

/** 128 + SIGHUP, which the kernel sends to a program that loses its terminal. */
const HOST_LOST = { code: 129, reason: "host_lost" } as const;

export type Recovered = Required<Pick<SessionOptions, "stored" | "files" | "sizes" | "gaps">> & {
  /** It was running when its host died: its record has to be written. */
  readonly wasLost: boolean;
  /** `recording.cast` exists, and is not empty. */
  readonly isRecorded: boolean;
};

/** All readable sessions in the control directory; unreadable ones stay unless they are blank. */
export async function recoverSessions(
  controlDir: ControlDir,
  onUnreadable: (id: string, error: unknown) => void,
): Promise<Recovered[]> {
  const recovered: Recovered[] = [];
  for (const id of await sessionFolders(controlDir.sessions, onUnreadable)) {
    const files = controlDir.session(id);
    try {
      const stored = StoredSession.parse(JSON.parse(await readFile(files.record, "utf8")));
      if (stored.id === id) recovered.push(await recover(stored, files));
    } catch (error) {
      onUnreadable(id, error);
      await removeIfBlank(files).catch((fault: unknown) => onUnreadable(id, fault));
    }
  }
  return recovered;
}

async function recover(stored: StoredSession, files: SessionFiles): Promise<Recovered> {
  const lost = stored.exit === undefined ? await readLost(files) : undefined;
  // On a full disk the session is listed; its journal is repaired again before the recording is written.
  if (lost !== undefined) await repair(files, lost).catch(unlessDiskFault);
  const wasLost = lost !== undefined;
  const journal = lost ?? (await readSummary(files));
  const { gaps, at, outputBytes } = journal;
  const { cols, rows } = journal.sizes.at(-1) ?? stored;
  const sizes = journal.sizes.length > 0 ? journal.sizes : [{ offset: 0, cols, rows }];
  const exit = stored.exit ?? { ...(journal.exit ?? HOST_LOST), at, outputBytes };
  const isRecorded = !wasLost && (await fileBytes(files.recording)) > 0;
  return { stored: { ...stored, cols, rows, exit }, files, sizes, gaps, wasLost, isRecorded };
}

/** Cuts a torn last record, drops records of output that never arrived, and records output that has no record. */
export async function repairJournal(files: SessionFiles, exit?: JournalExit): Promise<void> {
  await repair(files, await readLost(files, exit));
}

async function repair(
  files: SessionFiles,
  { eventsBytes, missing }: Awaited<ReturnType<typeof readLost>>,
): Promise<void> {
  await truncate(files.events, eventsBytes);
  await appendFile(files.events, missing.map(eventLine).join(""));
}

/** A journal, and the records that it lacks unless it has an exit. */
async function readLost(files: SessionFiles, exit: JournalExit = HOST_LOST) {
  const { size } = await stat(files.output);
  // A silent program may have run long after its last output; only a recorded exit was the end.
  const { mtime } = await stat(files.events);
  const summary = await readSummary(files, size);
  if (summary.exit !== undefined) return { ...summary, at: mtime.toISOString(), missing: [] };
  const { time, outputBytes, gaps } = summary;
  // After a boot the clock may be behind until it is set.
  const at = new Date(Math.max(Date.now(), mtime.getTime())).toISOString();
  const offset = size + lostBefore(gaps);
  const missing: JournalEvent[] = [
    { time, offset, kind: "m", data: "the session host was lost" },
    { time, offset, kind: "x", data: exitData(exit) },
  ];
  if (outputBytes < offset) missing.unshift({ time, offset, kind: "o" });
  return { ...summary, at, outputBytes: offset, missing };
}

function unlessDiskFault(error: unknown): void {
  if (!isDiskFault(error)) throw error;
}

/** Up to the first record of output beyond `maxBytes`; `eventsBytes` and `time`: length of the records, and time of the last. */
async function readSummary(files: SessionFiles, maxBytes = Number.POSITIVE_INFINITY) {
  const sizes: SizeChange[] = [];
  const gaps: Gap[] = [];
  let exit: JournalExit | undefined;
  let [outputBytes, eventsBytes, time] = [0, 0, 0];
  for await (const event of readEvents(files)) {
    const gap = gapOf(event);
    if (gap !== undefined) gaps.push(gap);
    // Only the exit may be beyond: it counts output after the recording was stopped.
    if (positionOf(gaps, event.offset) > maxBytes && event.kind !== "x") break;
    eventsBytes += Buffer.byteLength(eventLine(event));
    time = event.time;
    outputBytes = Math.max(outputBytes, event.offset);
    const size = event.kind === "r" ? parseSize(event.data) : undefined;
    if (size !== undefined) addSize(sizes, { ...size, offset: event.offset });
    if (event.kind === "x") exit = parseExitData(event.data ?? "");
  }
  return { sizes, gaps, outputBytes, at: new Date().toISOString(), exit, eventsBytes, time };
}

/** Room for the record of the initial size. */
const FIRST_EVENT_BYTES = 64;

/** Removes a folder without content, so that its id can be used again. */
async function removeIfBlank(files: SessionFiles): Promise<void> {
  if (await isBlank(files)) await folderRemoval(files.directory)();
}

/** An empty or no record, no output, no event except of a size, and no other files. */
async function isBlank(files: SessionFiles): Promise<boolean> {
  const own = [files.record, files.output, files.events].map((path) => basename(path));
  const isDraft = (name: string): boolean =>
    name.startsWith(`.${basename(files.record)}.`) && name.endsWith(".tmp");
  const names = await readdir(files.directory);
  if (!names.every((name) => own.includes(name) || isDraft(name))) return false;
  for (const path of [files.record, files.output]) if ((await fileBytes(path)) > 0) return false;
  if ((await fileBytes(files.events)) > FIRST_EVENT_BYTES) return false;
  for await (const { kind } of readEvents(files)) if (kind !== "r") return false;
  return true;
}
