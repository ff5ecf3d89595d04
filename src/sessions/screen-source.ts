import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileBytes } from "./journal-reader.ts";
import type { ScreenSource, Screens } from "./screen.ts";
import type { Session } from "./session.ts";

/** Files in memory (shm_overview(7)), for when the disk takes no more. */
const MEMORY_DIRECTORY = "/dev/shm";

/** Where a screen comes from; `base` is the offset in the session of the file's first byte. */
export type BasedSource = ScreenSource & { readonly base: number };

/** Calls `use` with all output up to now in a file, and settles as it does. */
export async function withScreenSource<T>(
  session: Session,
  screens: Pick<Screens, "forget">,
  use: (source: BasedSource) => Promise<T>,
): Promise<T> {
  session.flush();
  if (session.recent === undefined) return use(await journalSource(session));
  await using recent = await recentSource(session);
  try {
    return await use(recent.source);
  } finally {
    screens.forget(recent.source.id);
  }
}

/** Bytes that never reached the file are left out: the screen counts as that of the end all the same. */
async function journalSource(session: Session): Promise<BasedSource> {
  const { files, screenId: id, sizes, journal, outputBytes } = session;
  await journal?.flushedTo(outputBytes);
  const upTo = Math.min(outputBytes, journal?.held ?? (await fileBytes(files.output)));
  const { output: outputPath, checkpoint: checkpointPath } = files;
  return { id, outputPath, checkpointPath, upTo, sizes, base: outputBytes - upTo };
}

/**
 * After the recording was stopped the screen is drawn from what is held in memory: the last 4 MiB. A program that drew
 * something before that and never again is shown without it. Disposing removes the file that this takes.
 */
async function recentSource(session: Session): Promise<AsyncDisposable & { source: BasedSource }> {
  const { recent, outputBytes, size } = session;
  const base = recent?.start ?? outputBytes;
  const pieces = [...(recent?.read(base, outputBytes) ?? [])];
  const id = `${session.id}-recent-${randomUUID()}`;
  const outputPath = await writeSomewhere([session.files.directory, MEMORY_DIRECTORY], id, pieces);
  const checkpointPath = `${outputPath}.checkpoint`;
  const sizes = [{ offset: 0, ...size }];
  return {
    source: { id, outputPath, checkpointPath, upTo: outputBytes - base, sizes, base },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([outputPath, checkpointPath].map((path) => rm(path, { force: true })));
    },
  };
}

/** Writes a file of that name in the first of the directories that takes it. Returns its path. */
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
