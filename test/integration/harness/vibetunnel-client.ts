// A VibeTunnel v3 client, written only from the facts and sharing no code with the product: it represents existing
// clients. Sections are those of the facts document.
import { setTimeout as pause } from "node:timers/promises";
import { PATIENCE_MS } from "./patience.ts";

const TYPE = {
  ...{ WELCOME: 2, SUBSCRIBE: 10, UNSUBSCRIBE: 11, STDOUT: 20, SNAPSHOT_VT: 21, EVENT: 22, ERROR: 23 },
  ...{ INPUT_TEXT: 30, INPUT_KEY: 31, RESIZE: 32, KILL: 33, PING: 40, PONG: 41 },
} as const;

export type OldFrame = { readonly type: number; readonly sessionId: string; readonly payload: Buffer };

/** 1.2: drops whatever the official decoders drop. */
export function decodeOldFrame(message: Buffer): OldFrame | undefined {
  if (message.length < 12 || message.readUInt16LE(0) !== 0x5654 || message[2] !== 3) return undefined;
  const idLength = message.readUInt32LE(4);
  if (12 + idLength > message.length) return undefined;
  const length = message.readUInt32LE(8 + idLength);
  const start = 12 + idLength;
  if (start + length > message.length) return undefined;
  const sessionId = message.toString("utf8", 8, 8 + idLength);
  return { type: message[3] ?? 0, sessionId, payload: message.subarray(start, start + length) };
}

export function encodeOldFrame(type: number, sessionId: string, payload: Buffer): Buffer {
  const id = Buffer.from(sessionId);
  const head = Buffer.alloc(8);
  head.writeUInt16LE(0x5654, 0);
  head[2] = 3;
  head[3] = type;
  head.writeUInt32LE(id.length, 4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(payload.length);
  return Buffer.concat([head, id, length, payload]);
}

export class VibeTunnelClient implements AsyncDisposable {
  readonly frames: OldFrame[] = [];
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #subscriptions = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #socket: WebSocket | undefined;
  #dropped = 0;
  #connections = 0;
  #isDisposed = false;

  private constructor(url: string, token: string | undefined) {
    this.#url = url;
    this.#token = token;
  }

  /** `url` is the server's, with http; `token` is that of a login, if required. */
  static async open(url: string, token?: string): Promise<VibeTunnelClient> {
    const client = new VibeTunnelClient(url, token);
    client.#connect(1_000);
    await client.until(() => client.#socket?.readyState === WebSocket.OPEN);
    return client;
  }

  /** Messages that it could not decode. */
  get dropped(): number {
    return this.#dropped;
  }

  get connections(): number {
    return this.#connections;
  }

  /** 1.5: the official clients send 0 for both intervals. */
  subscribe(sessionId: string, flags: number): void {
    this.#subscriptions.set(sessionId, flags);
    this.#subscribe(sessionId, flags);
  }

  unsubscribe(sessionId: string): void {
    this.#subscriptions.delete(sessionId);
    this.#send(TYPE.UNSUBSCRIBE, sessionId, Buffer.alloc(0));
  }

  type(sessionId: string, text: string): void {
    this.#send(TYPE.INPUT_TEXT, sessionId, Buffer.from(text));
  }

  press(sessionId: string, key: string): void {
    this.#send(TYPE.INPUT_KEY, sessionId, Buffer.from(key));
  }

  /** 1.11: the limits of the web client. */
  resize(sessionId: string, cols: number, rows: number): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32LE(Math.min(1000, Math.max(20, cols)), 0);
    payload.writeUInt32LE(Math.min(1000, Math.max(10, rows)), 4);
    this.#send(TYPE.RESIZE, sessionId, payload);
  }

  kill(sessionId: string, signal = ""): void {
    this.#send(TYPE.KILL, sessionId, Buffer.from(signal));
  }

  /** 1.11: the web client's message every 20 s. */
  ping(): void {
    this.#send(TYPE.PING, "", Buffer.from("ping"));
  }

  sendBytes(hex: string): void {
    this.#socket?.send(Buffer.from(hex.replaceAll(" ", ""), "hex"));
  }

  of(type: keyof typeof TYPE, sessionId?: string): readonly OldFrame[] {
    return this.frames.filter(
      (frame) => frame.type === TYPE[type] && (sessionId === undefined || frame.sessionId === sessionId),
    );
  }

  /** 1.12: each STDOUT frame is decoded separately. */
  text(sessionId: string): string {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    return this.of("STDOUT", sessionId)
      .map(({ payload }) => decoder.decode(payload))
      .join("");
  }

  events(sessionId?: string): readonly Record<string, unknown>[] {
    return this.of("EVENT", sessionId).map(({ payload }) => JSON.parse(payload.toString()));
  }

  /** 1.8: the exit event of the web client, and of the iOS client. */
  exitCode(sessionId: string): unknown {
    return this.events(sessionId).find(({ kind }) => kind === "exit")?.exitCode;
  }

  /** The newest screen of a session in the iOS client, which refuses less than 32 bytes. */
  screen(sessionId: string): OldScreen | undefined {
    const snapshots = this.of("SNAPSHOT_VT", sessionId).filter(({ payload }) => payload.length >= 32);
    const newest = snapshots.at(-1);
    return newest === undefined ? undefined : decodeOldScreen(newest.payload);
  }

  async until(condition: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new Error(`not within ${PATIENCE_MS} ms: ${condition}`)),
      PATIENCE_MS,
    );
    const check = (): void => void (condition() && resolve());
    this.#listeners.add(check);
    check();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(check);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#socket?.close();
    await this.until(() => this.#socket?.readyState === WebSocket.CLOSED);
  }

  /** 1.11: reconnects after a loss, after 1 s, doubled up to 30 s, and sends its SUBSCRIBEs again. */
  #connect(delayMs: number): void {
    const query = this.#token === undefined ? "" : `?token=${encodeURIComponent(this.#token)}`;
    const socket = new WebSocket(`${this.#url.replace("http", "ws")}/ws${query}`);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let nextMs = Math.min(delayMs * 2, 30_000);
    socket.onopen = () => {
      nextMs = 1_000;
      this.#connections += 1;
      for (const [sessionId, flags] of this.#subscriptions) this.#subscribe(sessionId, flags);
      this.#changed();
    };
    socket.onmessage = ({ data }) => this.#received(Buffer.from(data));
    socket.onclose = () => {
      this.#changed();
      if (!this.#isDisposed) void pause(delayMs).then(() => this.#connect(nextMs));
    };
  }

  #received(message: Buffer): void {
    const frame = decodeOldFrame(message);
    if (frame === undefined) this.#dropped += 1;
    else this.frames.push(frame);
    this.#changed();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #subscribe(sessionId: string, flags: number): void {
    const payload = Buffer.alloc(12);
    payload.writeUInt32LE(flags, 0);
    this.#send(TYPE.SUBSCRIBE, sessionId, payload);
  }

  #send(type: number, sessionId: string, payload: Buffer): void {
    if (this.#socket?.readyState === WebSocket.OPEN)
      this.#socket.send(new Uint8Array(encodeOldFrame(type, sessionId, payload)));
  }
}

export type OldCell = {
  readonly text: string;
  readonly attributes: number;
  readonly fg?: unknown;
  readonly bg?: unknown;
};
export type OldScreen = {
  readonly cols: number;
  readonly cursor: readonly [number, number];
  readonly rows: readonly (readonly OldCell[])[];
};

/** Section 2: decodes a snapshot in the test order of the web and iOS clients. */
export function decodeOldScreen(bytes: Buffer): OldScreen {
  if (bytes.readUInt16LE(0) !== 0x5654 || bytes[2] !== 1) throw new Error("no snapshot");
  const [cols, count] = [bytes.readUInt32LE(4), bytes.readUInt32LE(8)];
  if (cols < 1 || cols > 1000 || count < 1 || count > 1000) throw new Error(`a screen of ${cols} x ${count}`);
  const cursor = [bytes.readInt32LE(16), bytes.readInt32LE(20)] as const;
  const rows: OldCell[][] = [];
  let at = 28;
  const byte = (): number => bytes.readUInt8(at++);
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const color = (isRgb: boolean): unknown => (isRgb ? [byte(), byte(), byte()] : byte());
  const cell = (): OldCell => {
    const type = byte();
    if (type === 0) return { text: " ", attributes: 0 };
    let text = " ";
    if ((type & 3) !== 0) text = (type & 0x40) !== 0 ? take(byte()).toString() : String.fromCharCode(byte());
    if ((type & 0x80) === 0) return { text, attributes: 0 };
    const attributes = byte();
    const fg = (type & 0x20) !== 0 ? { fg: color((type & 8) !== 0) } : {};
    const bg = (type & 0x10) !== 0 ? { bg: color((type & 4) !== 0) } : {};
    return { text, attributes, ...fg, ...bg };
  };
  while (rows.length < count) {
    const marker = byte();
    if (marker === 0xfe) for (let empty = byte(); empty > 0; empty--) rows.push([]);
    else if (marker === 0xfd) {
      const length = bytes.readUInt16LE(at);
      at += 2;
      if (length > 2 * cols) throw new Error(`a row of ${length} cells`);
      rows.push(Array.from({ length }, cell));
    } else throw new Error(`a row that begins with ${marker}`);
  }
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes after the screen`);
  return { cols, cursor, rows };
}

export function oldScreenText(screen: OldScreen | undefined): string {
  return (screen?.rows ?? []).map((cells) => cells.map(({ text }) => text).join("")).join("\n");
}
