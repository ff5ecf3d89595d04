// The asciicast v2 of a session: a view of its journal, made when somebody asks and written beside it at the end.
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SessionFiles } from "../storage/control-dir.ts";
import type { StoredSession } from "../storage/stored-session.ts";
import { CastWriter, castHeader } from "./cast.ts";
import { type Follow, type JournalEntry, readJournal } from "./reader.ts";

/** Lines are joined into pieces of about this many bytes. */
const PIECE_BYTES = 64 * 1024;

/**
 * Header and events in pieces of whole lines. With `follow` it continues to the end of the session; incomplete
 * characters wait for the next piece.
 */
export async function* castText(
  stored: StoredSession,
  files: SessionFiles,
  follow?: Follow,
): AsyncGenerator<Uint8Array> {
  const writer = new CastWriter();
  let lines: Uint8Array[] = [];
  let bytes = 0;
  let hasHeader = false;
  let hasEnded = stored.exit !== undefined;
  for await (const entry of readJournal(files, follow)) {
    if (!hasHeader) {
      yield headerOf(stored, entry);
      hasHeader = true;
      if (entry.kind === "r") continue;
    }
    const line = writer.line(entry);
    lines.push(line);
    bytes += line.length;
    hasEnded ||= entry.kind === "x";
    // Followers get every line at once.
    if (bytes > 0 && (follow !== undefined || bytes >= PIECE_BYTES)) {
      yield Buffer.concat(lines);
      [lines, bytes] = [[], 0];
    }
  }
  if (!hasHeader) yield headerOf(stored, undefined);
  if (hasEnded) lines.push(writer.end());
  const last = Buffer.concat(lines);
  if (last.length > 0) yield last;
}

/** Writes `recording.cast` atomically. */
export async function writeRecording(stored: StoredSession, files: SessionFiles): Promise<void> {
  const temporary = `${files.recording}.tmp`;
  try {
    await pipeline(Readable.from(castText(stored, files)), createWriteStream(temporary, { mode: 0o600 }));
    await rename(temporary, files.recording);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The size of the first record: that of the session may have changed since. */
function headerOf(stored: StoredSession, first: JournalEntry | undefined): Uint8Array {
  const [width, height] = first?.kind === "r" ? first.data.split("x").map(Number) : [];
  return castHeader({
    width: width ?? stored.cols,
    height: height ?? stored.rows,
    timestamp: Math.floor(Date.parse(stored.created) / 1000),
    command: stored.command.join(" "),
    title: stored.name,
    env: { SHELL: stored.shell, TERM: "xterm-256color" },
  });
}
