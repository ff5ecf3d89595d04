const BEL = 0x07;
/** ESC \ */
const STRING_END = Buffer.of(0x1b, 0x5c);
/** Longer sequences are ignored. */
const MAX_BYTES = 512;
const ESC = 0x1b;
const CLOSING_BRACKET = 0x5d;
/** OSC 8 */
const LINK = 0x38;
/** BEL ends a sequence; CAN and SUB abort it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
const ENDED = /[\x07\x18\x1a]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a title with control characters is shown without them
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/** Marks of a shell integration (OSC 133): C, a command starts; D, it has ended, perhaps with its exit code. */
export type CommandMark =
  | { readonly kind: "started" }
  | { readonly kind: "finished"; readonly exitCode?: number | undefined };

/** A message of a program to the person (OSC 9, OSC 777): plain text of at most 512 bytes; the title may be empty. */
export type ProgramNotification = { readonly title: string; readonly body: string };

/** The last title, marks of commands, whether a BEL rang that ended no sequence, and the last notification. */
type Found = {
  title: string | undefined;
  marks: CommandMark[];
  hasBell: boolean;
  notification: ProgramNotification | undefined;
};

/** Searches the ends of sequences, which are rarer than ESC in coloured output, and from there backwards the beginning. */
export class TitleScan {
  /** The end of the last piece, which may have the beginning of a sequence. */
  #tail: Buffer = Buffer.alloc(0);

  scan(bytes: Uint8Array): Readonly<Found> {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const seam = Buffer.concat([this.#tail, piece.subarray(0, MAX_BYTES)]);
    const found: Found = { title: undefined, marks: [], hasBell: false, notification: undefined };
    scanFrom(seam, this.#tail.length, found);
    scanFrom(piece, MAX_BYTES, found);
    this.#tail = Buffer.from((piece.length >= MAX_BYTES ? piece : seam).subarray(-MAX_BYTES));
    return found;
  }
}

/** Adds the sequences that end at `start` or later. None reaches beyond the end before, so each byte is read once. */
function scanFrom(bytes: Buffer, start: number, found: Found): void {
  let last = -1;
  for (const end of endsFrom(bytes, start)) {
    const body = bodyBetween(bytes, Math.max(last + 1, end - MAX_BYTES), end);
    last = end;
    const [kind, mark, code = ""] = body?.split(";") ?? [];
    if (body === undefined) found.hasBell ||= bytes[end] === BEL;
    else if (kind === "133" && mark === "C") found.marks.push({ kind: "started" });
    else if (kind === "133" && mark === "D")
      found.marks.push({ kind: "finished", exitCode: /^\d{1,3}$/.test(code) ? Number(code) : undefined });
    else if ((kind === "0" || kind === "2") && mark !== undefined) found.title = plainText(body.slice(2));
    else if (kind === "9" || kind === "777") found.notification = notificationOf(body) ?? found.notification;
  }
}

/** `9;BODY` or `777;notify;TITLE;BODY`. ConEmu has other uses of OSC 9, such as progress: `9;4;1;50`. */
function notificationOf(body: string): ProgramNotification | undefined {
  if (/^9;(?!\d+(?:;|$))./.test(body)) return { title: "", body: plainText(body.slice(2)) };
  const [, title, text] = /^777;notify;([^;]*);?(.*)$/.exec(body) ?? [];
  if (title === undefined || text === undefined) return undefined;
  return { title: plainText(title), body: plainText(text) };
}

function plainText(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString().replace(CONTROLS, "");
}

/** Each BEL and ESC \ that is at `start` or later, in order; of BEL after BEL only the first two. Buffer's search is memchr. */
function* endsFrom(bytes: Buffer, start: number): Generator<number> {
  let bell = bytes.indexOf(BEL, start);
  // Its first byte may be before `start`.
  let stringEnd = bytes.indexOf(STRING_END, Math.max(0, start - 1));
  while (bell !== -1 || stringEnd !== -1) {
    if (stringEnd === -1 || (bell !== -1 && bell < stringEnd)) {
      yield bell;
      const isRow = bytes[bell - 1] === BEL;
      bell += 1;
      while (isRow && bytes[bell] === BEL) bell += 1;
      bell = bytes.indexOf(BEL, bell);
    } else {
      yield stringEnd;
      stringEnd = bytes.indexOf(STRING_END, stringEnd + 1);
    }
  }
}

/** The text of the OSC from `from` on that ends at `end`, a character per byte; undefined if none does. */
function bodyBetween(bytes: Buffer, from: number, end: number): string | undefined {
  let begin = end - 1;
  while (begin >= from && bytes[begin] !== ESC) begin -= 1;
  if (begin < from || bytes[begin + 1] !== CLOSING_BRACKET) return undefined;
  // Some output has many links, which end with ESC \ and need not be read.
  if (bytes[begin + 2] === LINK && bytes[end] === ESC) return undefined;
  const body = bytes.toString("latin1", begin + 2, end);
  return ENDED.test(body) ? undefined : body;
}
