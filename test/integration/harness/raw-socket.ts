// A client of /ws that sends the given frames and keeps received ones.
import { once } from "node:events";
import { WebSocket } from "ws";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  type Frame,
  FrameType,
  type Magic,
} from "../../../src/protocol/frame/frame.ts";
import { decodeJson, encodeSubscribe } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { PATIENCE_MS } from "./patience.ts";

/** The amount of output that `shows` searches. */
const SHOWN_BYTES = 64 * 1024;
const encoder = new TextEncoder();

export type Close = { readonly code: number; readonly reason: string };

export class RawSocket implements AsyncDisposable {
  /** Everything received, in order; frames own their bytes. */
  readonly frames: Frame[] = [];
  readonly #socket: WebSocket;
  readonly #changes = new Emitter<void>();
  #magic: Magic;
  #pings = 0;
  #errors = 0;
  #outputBytes = 0;
  #close: Close | undefined;

  private constructor(socket: WebSocket, magic: Magic) {
    this.#socket = socket;
    this.#magic = magic;
    socket.on("message", (data) => {
      if (!(data instanceof Uint8Array)) throw new Error("a message that is no bytes");
      const frame = decodeFrame(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      this.frames.push(frame);
      this.#outputBytes += outputOf(frame).length;
      this.#changes.emit();
    });
    socket.on("close", (code, reason) => {
      this.#close = { code, reason: reason.toString() };
      this.#changes.emit();
    });
    // A close event follows.
    socket.on("error", () => {});
  }

  /** `url` is the server's, with http. */
  static async open(
    url: string,
    options: {
      readonly magic?: Magic;
      readonly headers?: Readonly<Record<string, string>>;
      readonly path?: string;
    } = {},
  ): Promise<RawSocket> {
    const { magic = "VT", headers = {}, path = "/ws" } = options;
    const socket = new WebSocket(`ws://${new URL(url).host}${path}`, { headers, perMessageDeflate: false });
    const raw = new RawSocket(socket, magic);
    await withDeadline(once(socket, "open"), PATIENCE_MS, "the WebSocket's opening");
    return raw;
  }

  set magic(magic: Magic) {
    this.#magic = magic;
  }

  get isOpen(): boolean {
    return this.#close === undefined;
  }

  send(type: number, sessionId = "", payload: Uint8Array | string = new Uint8Array()): void {
    const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
    this.sendBytes(encodeFrame(type, sessionId, bytes, this.#magic));
  }

  sendBytes(message: Uint8Array): void {
    this.#socket.send(message);
  }

  sendText(message: string): void {
    this.#socket.send(message);
  }

  subscribe(sessionId: string, request: Parameters<typeof encodeSubscribe>[0]): void {
    this.send(FrameType.SUBSCRIBE, sessionId, encodeSubscribe(request));
  }

  type(sessionId: string, text: string): void {
    this.send(FrameType.INPUT_TEXT, sessionId, text);
  }

  /** Stops reading from the network; data in flight fills the system's buffers. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Resolves as soon as `find` returns a value for the received frames. */
  async until<T>(find: () => T | undefined, what: string, ms = PATIENCE_MS): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      try {
        const found = find();
        if (found !== undefined) resolve(found);
        else if (!this.isOpen) reject(new Error(`closed with ${this.#close?.code} before ${what} came`));
      } catch (error) {
        reject(error);
      }
    };
    using _listening = this.#changes.on(check);
    check();
    return await withDeadline(promise, ms, what);
  }

  /** The first past or future frame of that kind. */
  async frame(type: number, isIt: (frame: Frame) => boolean = () => true): Promise<Frame> {
    const check = (): Frame | undefined => this.frames.find((frame) => frame.type === type && isIt(frame));
    return this.until(check, `a frame of type ${type}`);
  }

  /** The JSON of the first frame of that type that matches `isIt`. */
  async json(type: number, isIt: (value: Record<string, unknown>) => boolean = () => true) {
    const check = (): Record<string, unknown> | undefined => this.jsons(type).find(isIt);
    return this.until(check, `JSON in a frame of type ${type}`);
  }

  async event(kind: string): Promise<Record<string, unknown>> {
    return this.json(FrameType.EVENT, (event) => event.kind === kind || event.type === kind);
  }

  /** The code of the next ERROR that no earlier call returned; the frame must have a message, too. */
  async errorCode(): Promise<unknown> {
    const count = this.#errors;
    this.#errors += 1;
    const error = await this.until(() => this.jsons(FrameType.ERROR)[count], "an ERROR");
    if (typeof error.message !== "string" || error.message === "")
      throw new Error("an ERROR without message");
    return error.code;
  }

  /** Resolves when everything sent before is processed, including its errors. */
  async settled(): Promise<void> {
    this.#pings += 1;
    const mark = `settled ${this.#pings}`;
    this.send(FrameType.PING, "", mark);
    await this.frame(FrameType.PONG, ({ payload }) => textOf(payload) === mark);
  }

  async closed(): Promise<Close> {
    const { promise, resolve } = Promise.withResolvers<Close>();
    const check = (): void => void (this.#close !== undefined && resolve(this.#close));
    using _listening = this.#changes.on(check);
    check();
    return await withDeadline(promise, PATIENCE_MS, "the close");
  }

  of(type: number, sessionId?: string): readonly Frame[] {
    return this.frames.filter(
      (frame) => frame.type === type && (sessionId === undefined || frame.sessionId === sessionId),
    );
  }

  jsons(type: number, sessionId?: string): readonly Record<string, unknown>[] {
    return this.of(type, sessionId).map(({ payload }) => recordOf(decodeJson(payload)));
  }

  /** The received bytes of STDOUT and OUTPUT, of all sessions. */
  get outputBytes(): number {
    return this.#outputBytes;
  }

  /** All received STDOUT and OUTPUT, of one session or of all. */
  output(sessionId?: string): Uint8Array {
    const isOurs = (frame: Frame): boolean => sessionId === undefined || frame.sessionId === sessionId;
    return concatBytes(this.frames.filter(isOurs).map(outputOf));
  }

  /** Searches the newest output of all sessions, and screens sent instead of output; not all that ever arrived. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    return this.until(() => pattern.exec(textOf(this.#newest())) ?? undefined, `output of ${pattern}`);
  }

  async bytes(count: number): Promise<void> {
    await this.until(() => (this.#outputBytes >= count ? true : undefined), `${count} bytes of output`);
  }

  #newest(): Uint8Array {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for (let at = this.frames.length - 1; at >= 0 && bytes < SHOWN_BYTES; at--) {
      const frame = this.frames[at];
      if (frame === undefined) break;
      const shown = frame.type === FrameType.RESYNC ? decodeResync(frame.payload).bytes : outputOf(frame);
      pieces.unshift(shown);
      bytes += shown.length;
    }
    return concatBytes(pieces);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOpen) return;
    this.#socket.terminate();
    await this.closed();
  }
}

const NOTHING = new Uint8Array();

function outputOf({ type, payload }: Frame): Uint8Array {
  if (type === FrameType.OUTPUT) return decodeOutput(payload).bytes;
  return type === FrameType.STDOUT ? payload : NOTHING;
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function recordOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new Error("JSON that is no object");
  return { ...value };
}
