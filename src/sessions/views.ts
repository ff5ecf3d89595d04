// The views of a session's output, from its journal and its screen (contract 2.5).
import { ServiceError } from "../protocol/errors.ts";
import { encodeResync } from "../protocol/frame/resync.ts";
import type { Content, View } from "./backend.ts";
import { gapLabel, gapOf, lostBefore, positionOf } from "./journal/event.ts";
import { eventStream, growthOf } from "./journal/event-stream.ts";
import { type Follow, fileBytes, readBytes, readEvents } from "./journal/reader.ts";
import { castText } from "./journal/recording.ts";
import type { Screens } from "./screen/screens.ts";
import { viewScreen } from "./screen/source.ts";
import type { Session } from "./session.ts";
import type { SessionFiles } from "./storage/control-dir.ts";

const OCTETS = "application/octet-stream";
/** Events are joined into pieces of about this many characters. */
const EVENTS_PIECE_LENGTH = 64 * 1024;

/** Throws `range_not_satisfiable` for output that is no longer available. */
export async function openView(
  session: Session,
  view: View,
  screens: Screens,
  signal: AbortSignal,
): Promise<Content> {
  switch (view.kind) {
    case "text":
      return whole("text/plain; charset=utf-8", (await viewScreen(session, screens, view)).bytes);
    case "buffer":
      return whole(OCTETS, (await viewScreen(session, screens, view)).bytes);
    case "resync":
      return whole(OCTETS, encodeResync(await viewScreen(session, screens, view)));
    case "recording":
      return recording(session, view.follow ? growthOf(session, signal) : undefined);
    case "stream":
      return { type: "text/event-stream", body: eventStream(session, view.after, signal) };
    case "output":
      return output(session, view.from, view.to);
    case "events":
      await session.journal?.flushed();
      return { type: "application/json", body: events(session.files, view.from) };
  }
}

async function recording(session: Session, follow: Follow | undefined): Promise<Content> {
  const type = "application/x-asciicast";
  const headers = { "content-disposition": `attachment; filename="${session.id}.cast"` };
  const { recording: path } = session.files;
  const length = session.isRunning ? 0 : await fileBytes(path).catch(() => 0);
  if (length > 0) return { type, headers, length, body: readBytes(path, 0, length) };
  await session.journal?.flushed();
  return { type, headers, body: castText(session.stored, session.files, follow) };
}

/** From the file up to the next gap; after the last gap also from memory. */
async function output(session: Session, from: number, to: number): Promise<Content> {
  session.flush();
  const { journal, files, gaps } = session;
  const end = Math.min(to, session.outputBytes);
  const onDisk = journal?.onDisk ?? (await fileBytes(files.output)) + lostBefore(gaps);
  const heldFrom = journal?.heldFrom ?? onDisk;
  const gap = gaps.find((each) => each.to > from);
  const fileEnd = Math.min(end, gap?.from ?? onDisk);
  const isInFile = from < fileEnd;
  if (from < end && !isInFile && (gap !== undefined || from < heldFrom || journal === undefined)) {
    const message = `output before byte ${gap?.to ?? heldFrom} is not held any more`;
    throw new ServiceError("range_not_satisfiable", message, { details: { length: session.outputBytes } });
  }
  // Read now: memory changes while a slow client reads.
  const isNext = gap === undefined && heldFrom <= Math.max(onDisk, from);
  const rest = isNext ? (journal?.read(Math.max(onDisk, from), end) ?? []) : [];
  const length = Math.max(0, fileEnd - from) + rest.reduce((sum, bytes) => sum + bytes.length, 0);
  const first = positionOf(gaps, from);
  return { type: OCTETS, length, body: inTurn(readBytes(files.output, first, first + fileEnd - from), rest) };
}

async function* inTurn(
  ...sources: readonly (AsyncIterable<Uint8Array> | Iterable<Uint8Array>)[]
): AsyncGenerator<Uint8Array> {
  for (const source of sources) yield* source;
}

/** A JSON array. Made while it is read: sizes, markers and input can be as much as the limit of the recording. */
async function* events(files: SessionFiles, from: number): AsyncGenerator<Uint8Array> {
  let text = "[";
  let separator = "";
  for await (const event of readEvents(files)) {
    const { kind, time, offset } = event;
    if (kind === "o" || offset < from) continue;
    const gap = gapOf(event);
    const shown = gap === undefined ? event : { time, offset, kind: "m", data: gapLabel(gap) };
    text += separator + JSON.stringify(shown);
    separator = ",";
    if (text.length < EVENTS_PIECE_LENGTH) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(`${text}]`);
}

function whole(type: string, bytes: Uint8Array): Content {
  return { type, length: bytes.length, body: inTurn([bytes]) };
}
