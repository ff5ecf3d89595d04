// The screen of a session, from its journal or, where the recording is incomplete, from the last output in memory.
import { randomUUID } from "node:crypto";
import { concatBytes } from "../../lib/data/collect.ts";
import { positionOf } from "../journal/event.ts";
import type { Journal } from "../journal/journal.ts";
import { fileBytes, readBytes } from "../journal/reader.ts";
import type { Session } from "../session.ts";
import type { Screens } from "./screens.ts";
import type { Screen, ScreenSource, ScreenView } from "./thread/message.ts";

/** Output for a screen that is not completely in the journal. */
const MAX_DRAWN_BYTES = 4 * 1024 * 1024;

/** `base`: the offset in the session of its first byte. */
type BasedSource = ScreenSource & { readonly base: number };

/** The screen of all output up to now; `offset` is that of the session. */
export async function viewScreen(
  session: Session,
  screens: Pick<Screens, "view" | "forget">,
  view: ScreenView,
): Promise<Screen> {
  session.flush();
  const { journal, outputBytes } = session;
  const isComplete = journal === undefined || (await isWritten(journal, outputBytes));
  const { base, ...source } = await (isComplete
    ? journalSource(session, outputBytes)
    : heldSource(session, journal));
  try {
    const screen = await screens.view(source, view);
    return { ...screen, offset: screen.offset + base };
  } finally {
    if (!isComplete) screens.forget(source.id);
  }
}

/** Waits for pending writes, which may fail. */
async function isWritten(journal: Journal, outputBytes: number): Promise<boolean> {
  if (journal.failure !== undefined || journal.isStopped) return false;
  await journal.flushed();
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
  const { output, checkpoint: checkpointPath } = files;
  return { id, output, checkpointPath, upTo, sizes, base: outputBytes - upTo };
}

/** The last 4 MiB from memory and from the file. */
async function heldSource(session: Session, journal: Journal): Promise<BasedSource> {
  // The journal has no output that is still batched, which came while a write was awaited.
  session.flush();
  const { id, outputBytes, size, files, gaps } = session;
  const held = journal.read(0, outputBytes);
  const fileEnd = positionOf(gaps, journal.onDisk);
  const heldBytes = held.reduce((sum, bytes) => sum + bytes.length, 0);
  const begin = Math.max(0, fileEnd - Math.max(0, MAX_DRAWN_BYTES - heldBytes));
  const output = concatBytes([...(await Array.fromAsync(readBytes(files.output, begin, fileEnd))), ...held]);
  const { length: upTo } = output;
  const sizes = [{ offset: 0, ...size }];
  return { id: `${id}-held-${randomUUID()}`, output, upTo, sizes, base: outputBytes - upTo };
}
