import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { positionOf } from "../journal/event.ts";
import type { Journal } from "../journal/journal.ts";
import { fileBytes, readBytes } from "../journal/reader.ts";
import type { Session } from "../session.ts";
import type { ScreenSource, Screens } from "./screens.ts";

/** Files in memory (shm_overview(7)), for a full disk. */
const MEMORY_DIRECTORY = "/dev/shm";
/** Output for a screen that is not completely in the journal. */
const MAX_DRAWN_BYTES = 4 * 1024 * 1024;

/** `base`: the offset in the session of the file's first byte. */
export type BasedSource = ScreenSource & { readonly base: number };

/** Calls `use` with a file of all output up to now. */
export async function withScreenSource<T>(
  session: Session,
  screens: Pick<Screens, "forget">,
  use: (source: BasedSource) => Promise<T>,
): Promise<T> {
  session.flush();
  const { journal, outputBytes } = session;
  if (journal === undefined || (await isWritten(journal, outputBytes))) {
    return use(await journalSource(session, outputBytes));
  }
  await using held = await heldSource(session, journal);
  try {
    return await use(held.source);
  } finally {
    screens.forget(held.source.id);
  }
}

/** Waits for pending writes, which may fail. */
async function isWritten(journal: Journal, outputBytes: number): Promise<boolean> {
  if (journal.failure !== undefined || journal.isStopped) return false;
  await journal.flushedTo(outputBytes);
  return journal.onDisk >= outputBytes;
}

/** Skips missing output: the screen counts as that of the end, with the output around a gap joined. */
async function journalSource(session: Session, outputBytes: number): Promise<BasedSource> {
  const { files, key: id, journal, gaps } = session;
  const upTo = Math.min(
    positionOf(gaps, outputBytes),
    journal === undefined ? await fileBytes(files.output) : Number.POSITIVE_INFINITY,
  );
  const sizes = session.sizes.map((size) => ({ ...size, offset: positionOf(gaps, size.offset) }));
  const { output: outputPath, checkpoint: checkpointPath } = files;
  return { id, outputPath, checkpointPath, upTo, sizes, base: outputBytes - upTo };
}

/**
 * Without a complete recording the screen is drawn from the last 4 MiB in memory and in the file. Disposing removes its
 * temporary file.
 */
async function heldSource(
  session: Session,
  journal: Journal,
): Promise<AsyncDisposable & { source: BasedSource }> {
  const { outputBytes, size, files, gaps } = session;
  const held = journal.read(0, outputBytes);
  const fileEnd = positionOf(gaps, journal.onDisk);
  const heldBytes = held.reduce((sum, bytes) => sum + bytes.length, 0);
  const begin = Math.max(0, fileEnd - Math.max(0, MAX_DRAWN_BYTES - heldBytes));
  const pieces = [...(await Array.fromAsync(readBytes(files.output, begin, fileEnd))), ...held];
  const id = `${session.id}-held-${randomUUID()}`;
  const outputPath = await writeSomewhere([files.directory, MEMORY_DIRECTORY], id, pieces);
  const checkpointPath = `${outputPath}.checkpoint`;
  const sizes = [{ offset: 0, ...size }];
  const upTo = pieces.reduce((sum, bytes) => sum + bytes.length, 0);
  return {
    source: { id, outputPath, checkpointPath, upTo, sizes, base: outputBytes - upTo },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([outputPath, checkpointPath].map((path) => rm(path, { force: true })));
    },
  };
}

/** Writes the file to the first of the directories that accepts it. Returns its path. */
async function writeSomewhere(
  directories: readonly string[],
  name: string,
  pieces: readonly Uint8Array[],
): Promise<string> {
  const [first = "", ...others] = directories;
  const path = join(first, name);
  try {
    await writeFile(path, pieces, { mode: 0o600, flag: "wx" });
    return path;
  } catch (error) {
    await rm(path, { force: true });
    if (others.length === 0) throw error;
    return await writeSomewhere(others, name, pieces);
  }
}
