// Reading recordings in asciicast v2, for the page and the command line.
import { z } from "zod";
import { ServiceError } from "./errors.ts";
import { parseJson } from "./json.ts";

const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;

const Header = z.looseObject({
  version: z.literal(2),
  width: z.int().positive(),
  height: z.int().positive(),
  idle_time_limit: z.number().positive().optional(),
});
const Event = z
  .tuple([z.number().min(0), z.string(), z.string()])
  .rest(z.unknown())
  .transform(([time, code, data]) => ({ time, code, data }));

/** `time` in seconds since the start; `code`: `o`, `i`, `r`, `m` or an unknown one. */
export type CastFileEvent = Readonly<z.infer<typeof Event>>;
/** `idle_time_limit` in seconds. */
type CastFile = {
  readonly header: z.infer<typeof Header>;
  readonly events: AsyncIterable<CastFileEvent>;
};

/** Reads an asciicast v2 up to its end or a torn line. Throws `invalid_request` for other content. */
export async function readCast(bytes: AsyncIterable<Uint8Array>): Promise<CastFile> {
  const all = lines(bytes);
  const { value } = await all.next();
  const header = Header.safeParse(parseJson(value ?? ""));
  if (!header.success) throw new ServiceError("invalid_request", "this is no asciicast v2 recording");
  return { header: header.data, events: eventsOf(all) };
}

async function* eventsOf(all: AsyncGenerator<string>): AsyncGenerator<CastFileEvent> {
  for await (const line of all) {
    if (line.trim() === "") continue;
    const event = Event.safeParse(parseJson(line));
    if (!event.success) return;
    yield event.data;
  }
}

const DATA = "data: ";

/** The events of a recording that is sent as server-sent events, up to the end of the session or of the stream. */
export async function* readCastStream(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<CastFileEvent> {
  for await (const line of lines(bytes)) {
    const event = line.startsWith(DATA) ? Event.safeParse(parseJson(line.slice(DATA.length))) : undefined;
    if (event?.success) yield event.data;
  }
}

async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    if (rest.length > MAX_LINE_CHARACTERS) throw new ServiceError("invalid_request", "a line is too long");
    yield* parts;
  }
  if (rest !== "") yield rest;
}
