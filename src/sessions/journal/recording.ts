// The recording of a session (asciicast v2, contract 3): a header, then a line of JSON for each event. It is generated from
// the journal on request, and written beside it at the end.
import { isUtf8 } from "node:buffer";
import { rename, rm, statfs, writeFile } from "node:fs/promises";
import { loadNative } from "../../lib/os/installation.ts";
import { parseSize } from "../../protocol/schemas/session.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { SessionFiles } from "../storage/control-dir.ts";
import type { StoredSession } from "../storage/stored-session.ts";
import { type Follow, fileBytes, type JournalEntry, readJournal } from "./reader.ts";

/** Lines are joined into pieces of about this many bytes. */
const PIECE_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);

/** Header and events in pieces of whole lines. With `follow` it continues to the end of the session. */
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
    // A killed host may have left it, with the room that is needed.
    await rm(temporary, { force: true });
    await checkRoom(files);
    await writeFile(temporary, castText(stored, files), { mode: 0o600 });
    await rename(temporary, files.recording);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** A recording is longer than its output. To find that out by writing would fill the disk for all others, at each attempt. */
async function checkRoom({ directory, output }: SessionFiles): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(directory);
  // Some file systems do not know.
  if (blocks === 0 || bavail * bsize >= (await fileBytes(output))) return;
  throw Object.assign(new Error("no room for the recording"), { code: "ENOSPC" });
}

/** The size of the first record: that of the session may have changed since. */
function headerOf(stored: StoredSession, first: JournalEntry | undefined): Uint8Array {
  const { cols, rows } = (first?.kind === "r" ? parseSize(first.data) : undefined) ?? stored;
  return castHeader({
    width: cols,
    height: rows,
    timestamp: Math.floor(Date.parse(stored.created) / 1000),
    command: stored.command.join(" "),
    title: stored.name,
    env: { SHELL: stored.shell, TERM: "xterm-256color" },
  });
}

export function castHeader(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return Buffer.from(`${JSON.stringify({ version: 2, ...fields })}\n`);
}

/**
 * Makes the event lines of one recording, in order. Times have microseconds and never go back. A character whose bytes
 * are split over two chunks goes whole into the later line; bytes that are no UTF-8 become U+FFFD. Between two events it
 * holds at most 3 bytes.
 */
export class CastWriter {
  readonly #characters = new WholeCharacters();
  #microseconds = 0;

  /** The line of one event with its line feed; empty for the exit, and for bytes of an incomplete character. */
  line(entry: JournalEntry): Uint8Array {
    this.#advance(entry.time);
    if (entry.kind === "o") return this.#output(this.#characters.take(entry.bytes));
    return entry.kind === "x" ? NOTHING : this.#format(entry.kind, Buffer.from(entry.data));
  }

  /** The line for a character that never became whole; the writer may then be used for more. */
  end(): Uint8Array {
    return this.#output(this.#characters.rest());
  }

  #advance(time: number): void {
    const microseconds = Math.round(time * 1e6);
    if (microseconds > this.#microseconds && Number.isSafeInteger(microseconds))
      this.#microseconds = microseconds;
  }

  #output(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return NOTHING;
    return this.#format("o", isUtf8(bytes) ? bytes : Buffer.from(decoder.decode(bytes)));
  }

  #format(code: "o" | "i" | "r" | "m", text: Uint8Array): Uint8Array {
    const seconds = Math.floor(this.#microseconds / 1e6);
    const fraction = String(this.#microseconds % 1e6).padStart(6, "0");
    const start = Buffer.from(`[${seconds}.${fraction}, "${code}", "`);
    return Buffer.concat([start, escapeJson(text), LINE_END]);
  }
}

const LINE_END = Buffer.from('"]\n');
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

type Native = { escapeJson(text: Uint8Array): Uint8Array };
/** Loaded on demand, since not every process makes recordings. */
let loaded: Native | undefined;

/** The content of a JSON string for UTF-8 text. */
function escapeJson(text: Uint8Array): Uint8Array {
  const native: Native = loaded ?? loadNative("ttyhq.node");
  loaded = native;
  return native.escapeJson(text);
}
