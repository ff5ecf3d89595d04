import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { concatBytes } from "../lib/collect.ts";
import type { ScreenSource } from "./screen.ts";
import type { Session } from "./session.ts";

/** Where a screen comes from; `base` is the offset in the session of the file's first byte. */
export type BasedSource = ScreenSource & { readonly base: number };

/** All output up to now, on disk. */
export async function screenSource(session: Session): Promise<BasedSource> {
  session.flush();
  const upTo = session.outputBytes;
  const { files, id, sizes, recent } = session;
  if (recent !== undefined) return recentSource(session);
  await session.journal?.flushedTo(upTo);
  return { id, outputPath: files.output, checkpointPath: files.checkpoint, upTo, sizes, base: 0 };
}

/**
 * After the recording was stopped the screen is drawn from what is held in memory: the last 4 MiB, from the beginning of
 * a line on. A program that drew something before that and never again is shown without it.
 */
async function recentSource(session: Session): Promise<BasedSource> {
  const { recent, id, files } = session;
  const end = session.outputBytes;
  const start = recent?.start ?? 0;
  const bytes = concatBytes([...(recent?.read(start, end) ?? [])]);
  const outputPath = join(files.directory, "recent");
  await writeFile(outputPath, bytes, { mode: 0o600 });
  const checkpointPath = join(files.directory, "recent-checkpoint");
  const sizes = [{ offset: 0, ...session.size }];
  return { id: `${id}@${end}`, outputPath, checkpointPath, upTo: bytes.length, sizes, base: start };
}
