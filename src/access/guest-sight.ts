// The view of a session for guests of a share link: screen and output, but no folder, command or repository.
import { basename } from "node:path";
import { Readable } from "node:stream";
import type { InvitedRights } from "../auth/roles.ts";
import { collectBytes } from "../lib/data/collect.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import { decodeJson, encodeJson } from "../protocol/frame/payload.ts";
import { SessionRecord } from "../protocol/schemas/session.ts";
import type { Content, View } from "../sessions/backend.ts";

const MAX_EVENTS_BYTES = 16 * 1024 * 1024;
/** No recording has longer lines. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;
/** A line of an asciicast, or of server-sent events with one. */
const INPUT_LINE = /^(?:data: )?\[[^,]*,\s*"i"/;
const HEADER_LINE = /^(data: )?(\{.*\})$/;

/** An allow list, so that new members are hidden by default. */
const Shown = SessionRecord.pick({
  ...{
    id: true,
    key: true,
    sessionId: true,
    created: true,
    startedAt: true,
    lastModified: true,
    status: true,
  },
  ...{ cols: true, rows: true, initialCols: true, initialRows: true },
  ...{ outputBytes: true, viewers: true, recording: true, lostBytes: true },
  ...{ title: true, exitCode: true, exitSignal: true, exitReason: true, endRequested: true, exitedAt: true },
});

/** These contain repository data or command lines. */
const NOT_FOR_GUESTS: ReadonlySet<ServerEvent["type"]> = new Set([
  ...["git-notification", "command-finished", "program-notification", "waiting-for-input"],
] as const);

/** What a link allows now. */
type Allowance = Pick<InvitedRights, "mode" | "resize">;

/** Required members that guests may not see are empty. */
export function guestRecord(record: SessionRecord, { mode, resize }: Allowance): SessionRecord {
  return {
    ...{ ...Shown.parse(record), name: guestName(record), command: [], cwd: "", workingDir: "" },
    access: mode,
    ...(mode === "type" && resize === true && { mayResize: true }),
  };
}

/** The names of records, which are immutable: all guests see the same, and a command may have a megabyte. */
const names = new WeakMap<SessionRecord, string>();

function guestName(record: SessionRecord): string {
  const name = names.get(record) ?? nameWithoutLine(record);
  names.set(record, name);
  return name;
}

/** A name that a user chose, or the default name without arguments and folder. */
function nameWithoutLine({ name, command: [program = "", ...args], cwd }: SessionRecord): string {
  const what = withoutFolder(name, cwd);
  if (what === undefined) return name;
  // No more words of an argument than can matter.
  const count = what.split(/\s+/).length;
  const isLine = args.some((arg) => what !== "" && arg.trim().split(/\s+/, count).join(" ").startsWith(what));
  return isLine ? basename(program) : what;
}

/** What a default name has before its folder, which may have parentheses itself; `undefined` for any other name. */
function withoutFolder(name: string, cwd: string): string | undefined {
  if (!name.endsWith(")")) return undefined;
  const start = [...name.matchAll(/ \(/g)].find(({ index }) => {
    const folder = name.slice(index + 2, -1);
    return folder === cwd || (folder.startsWith("~") && cwd.endsWith(folder.slice(1)));
  });
  return start && name.slice(0, start.index);
}

/** Only events of the session itself; `undefined`: hidden. */
export function guestEvent(
  event: ServerEvent,
  { session: { id: sessionId, key: sharedKey }, ...allowance }: Allowance & Pick<InvitedRights, "session">,
): ServerEvent | undefined {
  const { type, timestamp, exitCode, epoch, revision, key, record } = event;
  if (type === "connected") return { type, timestamp };
  if (event.sessionId !== sessionId || (key ?? sharedKey) !== sharedKey || NOT_FOR_GUESTS.has(type))
    return undefined;
  return {
    ...{ type, timestamp, sessionId },
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(epoch === undefined || revision === undefined ? {} : { epoch, revision }),
    ...(key === undefined ? {} : { key }),
    ...(record && { record: guestRecord(record, allowance) }),
  };
}

/** `from`: output before this offset is hidden. */
export async function guestView(
  view: View,
  from: number | undefined,
  open: (view: View) => Promise<Content>,
): Promise<Content> {
  switch (view.kind) {
    case "buffer":
      return await open(view);
    case "text":
      return await open(from === undefined ? view : { ...view, scrollback: false });
    case "resync":
      return await open(from === undefined ? view : { ...view, isScreenOnly: true });
    case "output":
      if (from !== undefined && view.from < from) {
        const message = `this share link shows output from byte ${from} on`;
        throw new ServiceError("range_not_satisfiable", message);
      }
      return await open(view);
    case "events":
      return await withoutInput(await open(view), from);
    case "recording":
    case "stream": {
      if (from !== undefined) {
        const message = "this share link begins later than the recording: read the output";
        throw new ServiceError("forbidden", message);
      }
      const { type, headers, body } = await open(view);
      return { type, ...(headers && { headers }), body: shownLines(body) };
    }
  }
}

/** Events at `from` itself may have been before the link, so they are hidden as well. */
async function withoutInput({ type, body }: Content, from: number | undefined): Promise<Content> {
  const received = await collectBytes(body, MAX_EVENTS_BYTES).catch(refuseTooMany);
  const events: unknown = decodeJson(received, MAX_EVENTS_BYTES);
  const shown = (Array.isArray(events) ? events : []).filter(
    ({ kind, offset }) => kind !== "i" && (from === undefined || kind === "x" || offset > from),
  );
  const bytes = encodeJson(shown);
  return { type, length: bytes.length, body: Readable.from([bytes]) };
}

function refuseTooMany(cause: unknown): never {
  if (!(cause instanceof RangeError)) throw cause;
  const message =
    "the session has too many events for a share link: give the offset of later ones with `from`";
  throw new ServiceError("range_not_satisfiable", message, { cause });
}

/** A recording without recorded input; its header only has size, time and terminal. */
async function* shownLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let rest = "";
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_LENGTH)
      throw new ServiceError("internal_error", "a line of a recording has no end");
    const shown = lines.map(shownLine).filter((line) => line !== undefined);
    if (shown.length > 0) yield encoder.encode(`${shown.join("\n")}\n`);
  }
  const last = shownLine(rest + decoder.decode());
  if (last !== undefined && last !== "") yield encoder.encode(last);
}

function shownLine(line: string): string | undefined {
  if (INPUT_LINE.test(line)) return undefined;
  const [, prefix = "", json] = HEADER_LINE.exec(line) ?? [];
  return json === undefined ? line : `${prefix}${shownHeader(json)}`;
}

function shownHeader(json: string): string {
  const { version, width, height, timestamp } = JSON.parse(json);
  return JSON.stringify({ version, width, height, timestamp, env: { TERM: "xterm-256color" } });
}
