// What can be seen of one session's output, made from its journal and its screen (contract 2.5).
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { ServiceError } from "../protocol/errors.ts";
import { encodeResync, type Resync } from "../protocol/payload.ts";
import type { Content, View } from "./backend.ts";
import { eventStream } from "./event-stream.ts";
import { growthOf } from "./growth.ts";
import { readEvents, readOutput } from "./journal-reader.ts";
import { castText } from "./recording.ts";
import type { Screens } from "./screen.ts";
import { screenSource } from "./screen-source.ts";
import type { Session } from "./session.ts";

const OCTETS = "application/octet-stream";

/** Throws `range_not_satisfiable` for output that is not held any more. */
export async function openView(
  session: Session,
  view: View,
  screens: Screens,
  signal: AbortSignal,
): Promise<Content> {
  switch (view.kind) {
    case "text":
      return whole(
        "text/plain; charset=utf-8",
        encode(await screens.text(await screenSource(session), view)),
      );
    case "buffer":
      return whole(OCTETS, (await screens.snapshot(await screenSource(session))).bytes);
    case "resync":
      return whole(OCTETS, encodeResync(await resync(session, screens)));
    case "recording":
      return recording(session, view.follow);
    case "stream":
      return { type: "text/event-stream", body: eventStream(session, view.after, signal) };
    case "output":
      return output(session, view.from, view.to);
    case "events":
      return whole("application/json", encode(JSON.stringify(await events(session, view.from))));
  }
}

/** The screen at an offset of the session; beyond the recording that of its source is a position in another file. */
async function resync(session: Session, screens: Screens): Promise<Resync> {
  const source = await screenSource(session);
  const { offset, size, bytes } = await screens.resync(source);
  return { offset: offset + source.base, size, bytes };
}

async function recording(session: Session, follow: boolean): Promise<Content> {
  const type = "application/x-asciicast";
  const headers = { "content-disposition": `attachment; filename="${session.id}.cast"` };
  const written = session.isRunning ? undefined : await stat(session.files.recording).catch(() => undefined);
  if (written !== undefined) {
    return { type, headers, length: written.size, body: createReadStream(session.files.recording) };
  }
  await session.journal?.flushedTo(session.outputBytes);
  const body = castText(session.stored, session.files, follow ? growthOf(session) : undefined);
  return { type, headers, body: encodeAll(body) };
}

/** From the file as far as it goes, then from what is held in memory of the output after the recording was stopped. */
async function output(session: Session, from: number, to: number): Promise<Content> {
  session.flush();
  const { journal, recent, files } = session;
  const end = Math.min(to, session.outputBytes);
  const kept = journal?.held ?? (await stat(files.output)).size;
  if (recent !== undefined && from >= kept && from < recent.start) {
    throw new ServiceError(
      "range_not_satisfiable",
      `output before byte ${recent.start} is not held any more`,
    );
  }
  const fileEnd = Math.min(end, kept);
  await journal?.flushedTo(fileEnd);
  const hasRest = recent !== undefined && end > kept && recent.start <= Math.max(kept, from);
  const rest = hasRest ? recent.read(Math.max(kept, from), end) : [];
  const length = Math.max(0, (hasRest ? end : fileEnd) - from);
  return { type: OCTETS, length, body: inTurn(readOutput(files, from, fileEnd), rest) };
}

async function* inTurn(
  first: AsyncIterable<Uint8Array>,
  second: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* second;
}

async function events(session: Session, from: number): Promise<object[]> {
  await session.journal?.flushed();
  const found: object[] = [];
  for await (const { kind, time, offset, data } of readEvents(session.files)) {
    if (kind !== "o" && offset >= from)
      found.push(data === undefined ? { time, offset, kind } : { time, offset, kind, data });
  }
  return found;
}

function whole(type: string, bytes: Uint8Array): Content {
  return { type, length: bytes.length, body: each([bytes]) };
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function* each(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function* encodeAll(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield encode(piece);
}
