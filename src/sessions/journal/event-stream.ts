// Server-sent events of a recording: the header, then one event for each line of the asciicast, then the exit.
import { addAbortListener } from "node:events";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Session } from "../session.ts";
import type { Follow } from "./reader.ts";
import { castText } from "./recording.ts";

const HEARTBEAT_MS = 30_000;

/** Ids count events from 1; the stream resumes behind `after` (Last-Event-ID). */
export async function* eventStream(
  session: Session,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const stream = new PassThrough();
  const beat = (): void => {
    // Not after the end, nor for a client that has not read the events before.
    if (stream.writable && !stream.writableNeedDrain) stream.write(":heartbeat\n\n");
  };
  const heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
  // The reader gets the error from the stream.
  const done = pipeline(events(session, after, signal), stream).catch(() => undefined);
  void done.then(() => clearInterval(heartbeat));
  yield* stream;
}

async function* events(session: Session, after: number, signal: AbortSignal): AsyncGenerator<string> {
  yield ":ok\n\n";
  let number = 0;
  const eventOf = (line: string): string => {
    number += 1;
    return number > after ? `id: ${number}\ndata: ${line}\n\n` : "";
  };
  const decoder = new TextDecoder();
  for await (const piece of castText(session.stored, session.files, growthOf(session, signal))) {
    yield decoder.decode(piece).trimEnd().split("\n").map(eventOf).join("");
  }
  const { exit } = session.stored;
  if (exit !== undefined) yield eventOf(JSON.stringify(["exit", exit.code, session.id]));
}

/** Waits for the session's journal to grow; false after its end and after an abort. */
export function growthOf(session: Session, signal: AbortSignal): Follow {
  const next = (): Promise<void> | undefined =>
    session.isRunning ? session.journal?.progressed() : undefined;
  // Requested before each read, so that no write during the read is missed.
  let growth = next();
  return async () => {
    if (growth === undefined || signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    // Removed after each wait: a race with a promise of the signal would leak every wait.
    using _ = addAbortListener(signal, () => resolve());
    void growth.then(resolve);
    await promise;
    // One more read after the end, for the last records.
    growth = next();
    return !signal.aborted;
  };
}
