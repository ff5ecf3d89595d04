// A client of VibeTunnel's WebSocket v3, written from its facts alone: it knows nothing of offsets and shares no code with us.
import { WebSocket } from "ws";
import { withDeadline } from "../../../src/lib/deadline.ts";

const WAIT_MS = 30_000;
/** The 16-bit number 0x5654, little-endian. */
const MAGIC = [0x54, 0x56];
const VERSION = 3;

export const Type = {
  WELCOME: 2,
  SUBSCRIBE: 10,
  UNSUBSCRIBE: 11,
  STDOUT: 20,
  SNAPSHOT_VT: 21,
  EVENT: 22,
  ERROR: 23,
  INPUT_TEXT: 30,
  INPUT_KEY: 31,
  RESIZE: 32,
  KILL: 33,
  PING: 40,
  PONG: 41,
} as const;

export type Received = { readonly type: number; readonly sessionId: string; readonly payload: Buffer };

export class VibeTunnelClient implements Disposable {
  readonly frames: Received[] = [];
  readonly #socket: WebSocket;
  readonly #looks = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => {
      const frame = decode(data);
      if (frame !== undefined) this.frames.push(frame);
      for (const look of [...this.#looks]) look();
    });
  }

  static async open(url: string): Promise<VibeTunnelClient> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    const client = new VibeTunnelClient(socket);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once("open", resolve);
    socket.once("error", reject);
    await withDeadline(promise, WAIT_MS, "the connection");
    return client;
  }

  send(type: number, sessionId: string, payload: Uint8Array | string = ""): void {
    const id = Buffer.from(sessionId);
    const body = Buffer.from(payload);
    const head = Buffer.from([...MAGIC, VERSION, type]);
    this.#socket.send(Buffer.concat([head, u32(id.length), id, u32(body.length), body]));
  }

  subscribe(sessionId: string, flags: number): void {
    this.send(Type.SUBSCRIBE, sessionId, Buffer.concat([u32(flags), u32(0), u32(0)]));
  }

  resize(sessionId: string, cols: number, rows: number): void {
    this.send(Type.RESIZE, sessionId, Buffer.concat([u32(cols), u32(rows)]));
  }

  of(type: number, sessionId: string): Received[] {
    return this.frames.filter((frame) => frame.type === type && frame.sessionId === sessionId);
  }

  /** All STDOUT so far; each frame decoded alone, as the web client does. */
  stdout(sessionId: string): string {
    return this.of(Type.STDOUT, sessionId)
      .map(({ payload }) => payload.toString("utf8"))
      .join("");
  }

  events(sessionId: string): Record<string, unknown>[] {
    return this.of(Type.EVENT, sessionId).map(({ payload }) => JSON.parse(payload.toString("utf8")));
  }

  async until<T>(look: () => T | undefined, what: string): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const check = (): void => {
      const found = look();
      if (found !== undefined) resolve(found);
    };
    this.#looks.add(check);
    try {
      check();
      return await withDeadline(promise, WAIT_MS, what);
    } finally {
      this.#looks.delete(check);
    }
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

/** Its clients drop what has the other byte order, in silence: our WELCOME, which comes before they have said anything. */
function decode(data: Buffer): Received | undefined {
  if (data[0] !== MAGIC[0] || data[1] !== MAGIC[1] || data[2] !== VERSION) return undefined;
  const idLength = data.readUInt32LE(4);
  const sessionId = data.toString("utf8", 8, 8 + idLength);
  const length = data.readUInt32LE(8 + idLength);
  return { type: data[3] ?? 0, sessionId, payload: data.subarray(12 + idLength, 12 + idLength + length) };
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** The text of a SNAPSHOT_VT, row by row, as the facts lay it out (section 2). */
export function snapshotRows(payload: Buffer): string[] {
  const rowCount = payload.readUInt32LE(8);
  const rows: string[] = [];
  let at = 28;
  while (at < payload.length && rows.length < rowCount) {
    const marker = payload[at];
    if (marker === 0xfe) {
      for (let blank = 0; blank < (payload[at + 1] ?? 0); blank += 1) rows.push("");
      at += 2;
      continue;
    }
    const cells = payload.readUInt16LE(at + 1);
    at += 3;
    let row = "";
    for (let cell = 0; cell < cells; cell += 1) {
      const { text, size } = cellAt(payload, at);
      row += text;
      at += size;
    }
    rows.push(row);
  }
  return rows;
}

function cellAt(payload: Buffer, at: number): { text: string; size: number } {
  const type = payload[at] ?? 0;
  if (type === 0) return { text: " ", size: 1 };
  let size = 1;
  let text = " ";
  if ((type & 3) !== 0 && (type & 0x40) !== 0) {
    const length = payload[at + 1] ?? 0;
    text = payload.toString("utf8", at + 2, at + 2 + length);
    size += 1 + length;
  } else if ((type & 3) !== 0) {
    text = String.fromCharCode(payload[at + 1] ?? 0);
    size += 1;
  }
  if ((type & 0x80) !== 0) {
    size += 1;
    if ((type & 0x20) !== 0) size += (type & 0x08) !== 0 ? 3 : 1;
    if ((type & 0x10) !== 0) size += (type & 0x04) !== 0 ? 3 : 1;
  }
  return { text, size };
}
