// A link over a unix socket: the part of WebSocket (RFC 6455) that a client of our session host needs. All output passes
// here, so it is read into one static buffer and each message is copied once.
import { randomBytes } from "node:crypto";
import { connect, type IpcNetConnectOpts, type Socket } from "node:net";
import type { Link, LinkHandlers } from "../protocol/client/link.ts";
import { givenUp } from "../protocol/client/link.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_UPLINK_MESSAGE_BYTES } from "../protocol/limits.ts";
import { connectExactly } from "./exact-socket.ts";
import { refusalOf, unreachable } from "./unreachable.ts";

export type SocketTarget = { readonly socketPath: string; readonly noFollow?: boolean };

const READ_BYTES = 256 * 1024;
/** Maximum of the handshake's answer; a refusal is one error body. */
const MAX_ANSWER_BYTES = 64 * 1024;
const END_OF_HEAD = "\r\n\r\n";
const Opcode = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const NOTHING = Buffer.alloc(0);
const FINAL = 0x80;
const MASKED = 0x80;
const NORMAL_CLOSURE = 1000;
const ABNORMAL_CLOSURE = 1006;

/** Rejects as `openLink`. */
export async function openSocketLink(
  target: SocketTarget,
  handlers: LinkHandlers,
  signal: AbortSignal,
): Promise<Link> {
  const link = new SocketLink(target, handlers);
  const abort = (): void => link.fail(givenUp());
  signal.addEventListener("abort", abort, { once: true });
  try {
    await link.opening.promise;
    return link;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

class SocketLink implements Link {
  /** Settles with the answer to the handshake. */
  readonly opening = Promise.withResolvers<void>();
  readonly #target: SocketTarget;
  readonly #handlers: LinkHandlers;
  readonly #socket: Socket;
  readonly #reader = new MessageReader({
    onMessage: (opcode, payload) => this.#received(opcode, payload),
    onBroken: (reason) => this.fail(new Error(reason)),
  });
  /** The handshake's answer so far; `undefined` once the link is open. */
  #answer: string | undefined = "";
  #failure: Error | undefined;
  #close = { code: ABNORMAL_CLOSURE, text: "connection lost" };

  constructor(target: SocketTarget, handlers: LinkHandlers) {
    this.#target = target;
    this.#handlers = handlers;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#read(buffer.subarray(0, length));
      return true;
    };
    this.#socket = connectTo(target, { onread: { buffer, callback } });
    this.#socket.on("error", (error) => (this.#failure ??= error));
    this.#socket.on("close", () => this.#closed());
    const key = randomBytes(16).toString("base64");
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}`;
    this.#socket.write(`GET /ws HTTP/1.1\r\nHost: localhost\r\n${fields}${END_OF_HEAD}`);
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  send(message: Uint8Array): void {
    this.#send(Opcode.binary, message);
  }

  close(): void {
    this.#end(NORMAL_CLOSURE, "");
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#socket.destroy();
  }

  #send(opcode: number, payload: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(maskedFrame(opcode, payload));
  }

  #end(code: number, text: string): void {
    this.#close = { code, text };
    this.#send(Opcode.close, Uint8Array.of(code >> 8, code & 0xff));
    this.#socket.destroySoon();
  }

  #read(chunk: Buffer): void {
    if (this.#answer === undefined) this.#reader.read(chunk);
    else this.#answered(this.#answer + chunk.toString("latin1"));
  }

  #answered(answer: string): void {
    this.#answer = answer;
    const head = answer.indexOf(END_OF_HEAD);
    if (head === -1 || statusOf(answer) !== 101) {
      if (answer.length > MAX_ANSWER_BYTES) this.fail(new Error("the answer to the handshake is too long"));
      return;
    }
    this.#answer = undefined;
    this.#reader.keep(Buffer.from(answer.slice(head + END_OF_HEAD.length), "latin1"));
    this.opening.resolve();
    // After the waiting caller has received the link.
    setImmediate(() => this.#read(NOTHING));
  }

  #received(opcode: number, payload: Uint8Array): void {
    if (opcode === Opcode.binary) this.#handlers.onMessage(payload);
    else if (opcode === Opcode.ping) this.#send(Opcode.pong, payload);
    else if (opcode === Opcode.close) {
      const [high = NORMAL_CLOSURE >> 8, low = NORMAL_CLOSURE & 0xff] = payload;
      this.#end(high * 256 + low, new TextDecoder().decode(payload.subarray(2)));
    }
  }

  #closed(): void {
    const failure = this.#failure;
    if (this.#answer === undefined) {
      this.#handlers.onClose({ ...this.#close, text: failure?.message ?? this.#close.text });
    } else if (statusOf(this.#answer) > 0) this.opening.reject(refusal(this.#answer));
    else if (failure instanceof ServiceError) this.opening.reject(failure);
    else {
      const cause = failure ?? new Error("connection lost");
      this.opening.reject(unreachable(this.#target, "no connection", cause));
    }
  }
}

type MessageReaderOptions = {
  onMessage(opcode: number, payload: Uint8Array): void;
  /** The other side violated the protocol. */
  onBroken(reason: string): void;
};

/** Splits the stream into messages. Each byte is copied once. */
class MessageReader {
  readonly #options: MessageReaderOptions;
  /** Bytes of an incomplete header. */
  #head = NOTHING;
  /** An incomplete message, with `#filled` bytes. */
  #message: Buffer | undefined;
  #opcode = 0;
  #filled = 0;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** Before the first `read`: bytes that precede it. */
  keep(bytes: Buffer<ArrayBuffer>): void {
    this.#head = bytes;
  }

  /** `chunk` may be reused after the return. */
  read(chunk: Buffer): void {
    let rest = this.#fill(chunk);
    if (this.#head.length > 0) rest = Buffer.concat([this.#head, rest]);
    for (;;) {
      const header = headerOf(rest);
      if (header === undefined) break;
      if (typeof header === "string") {
        this.#options.onBroken(header);
        return;
      }
      this.#opcode = header.opcode;
      this.#message = Buffer.allocUnsafe(header.length);
      this.#filled = 0;
      rest = this.#fill(rest.subarray(header.bytes));
      if (this.#message !== undefined) return;
    }
    this.#head = rest.length === 0 ? NOTHING : Buffer.from(rest);
  }

  /** Completes the current message; returns the bytes after it. */
  #fill(chunk: Buffer): Buffer {
    const message = this.#message;
    if (message === undefined) return chunk;
    this.#head = NOTHING;
    const count = chunk.copy(message, this.#filled);
    this.#filled += count;
    if (this.#filled < message.length) return NOTHING;
    this.#message = undefined;
    this.#options.onMessage(this.#opcode, message);
    return chunk.subarray(count);
  }
}

type Header = { readonly opcode: number; readonly length: number; readonly bytes: number };

/** Undefined if incomplete; a string describes a violation. */
function headerOf(bytes: Buffer): Header | string | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const size = second === 127 ? 10 : second === 126 ? 4 : 2;
  if (bytes.length < size) return undefined;
  const length = size === 10 ? Number(bytes.readBigUInt64BE(2)) : size === 4 ? bytes.readUInt16BE(2) : second;
  // Only unfragmented frames without extensions.
  const opcode = first ^ FINAL;
  if (opcode > Opcode.pong || opcode === 0 || (second & MASKED) !== 0)
    return "the other side breaks the WebSocket protocol";
  if (length > MAX_UPLINK_MESSAGE_BYTES) return `a message of ${length} bytes is too long`;
  return { opcode, length, bytes: size };
}

/** Masked with zeros: masks protect proxies, and there are none here. */
function maskedFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.alloc(size + 4 + length);
  frame[0] = FINAL | opcode;
  frame[1] = MASKED | (size === 2 ? length : size === 4 ? 126 : 127);
  if (size === 4) frame.writeUInt16BE(length, 2);
  if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(payload, size + 4);
  return frame;
}

function connectTo(
  { socketPath, noFollow }: SocketTarget,
  options: Pick<IpcNetConnectOpts, "onread">,
): Socket {
  if (noFollow !== true) return connect({ path: socketPath, ...options });
  try {
    return connectExactly(socketPath, options);
  } catch (error) {
    throw error instanceof Error ? unreachable({ socketPath }, "no connection", error) : error;
  }
}

/** 0 without a status line. */
function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
}

function refusal(answer: string): ServiceError {
  const body = Buffer.from(answer.slice(answer.indexOf(END_OF_HEAD) + END_OF_HEAD.length), "latin1");
  return refusalOf(body, statusOf(answer));
}
