// A link over a unix socket: as much of the WebSocket protocol (RFC 6455) as a client of our own session host needs. All
// output of all sessions comes this way, so that it is read into one static buffer and each message is copied once.
import { randomBytes } from "node:crypto";
import { connect, type IpcNetConnectOpts, type Socket } from "node:net";
import type { Link, LinkHandlers } from "../protocol/client/link.ts";
import { givenUp } from "../protocol/client/link.ts";
import { errorFromBody, ServiceError } from "../protocol/errors.ts";
import { MAX_UPLINK_MESSAGE_BYTES } from "../protocol/limits.ts";
import { connectExactly } from "./exact-socket.ts";
import { unreachable } from "./unreachable.ts";

export type SocketTarget = { readonly socketPath: string; readonly noFollow?: boolean };

const READ_BYTES = 256 * 1024;
/** Of the answer to the handshake: a refusal is one error body. */
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
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const link = connectedTo(target, { handlers, opened: resolve, refused: reject });
  const abort = (): void => link.fail(givenUp());
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
    return link;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function connectedTo(target: SocketTarget, parts: SocketLinkParts): SocketLink {
  try {
    return new SocketLink(target, parts);
  } catch (error) {
    throw error instanceof Error ? unreachable(target, "no connection", error) : error;
  }
}

type SocketLinkParts = {
  readonly handlers: LinkHandlers;
  readonly opened: () => void;
  readonly refused: (error: unknown) => void;
};

class SocketLink implements Link {
  readonly #target: SocketTarget;
  readonly #handlers: LinkHandlers;
  readonly #opened: () => void;
  readonly #refused: (error: unknown) => void;
  readonly #socket: Socket;
  readonly #reader = new MessageReader({
    onMessage: (opcode, payload) => this.#received(opcode, payload),
    onBroken: (reason) => this.fail(new Error(reason)),
  });
  /** Of the handshake; `undefined`: the link is open. */
  #answer: string | undefined = "";
  #failure: Error | undefined;
  #close = { code: ABNORMAL_CLOSURE, text: "connection lost" };

  constructor(target: SocketTarget, parts: SocketLinkParts) {
    this.#target = target;
    this.#handlers = parts.handlers;
    this.#opened = parts.opened;
    this.#refused = parts.refused;
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
    this.#opened();
    // Whoever waits for the link has it by then.
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
    if (this.#answer === undefined) {
      this.#handlers.onClose({ ...this.#close, text: this.#failure?.message ?? this.#close.text });
    } else if (statusOf(this.#answer) > 0) this.#refused(refusal(this.#answer));
    else if (this.#failure instanceof ServiceError) this.#refused(this.#failure);
    else
      this.#refused(
        unreachable(this.#target, "no connection", this.#failure ?? new Error("connection lost")),
      );
  }
}

type MessageReaderOptions = {
  onMessage(opcode: number, payload: Uint8Array): void;
  /** The other side sent what a session host never sends. */
  onBroken(reason: string): void;
};

/** Takes messages apart. A message that is whole in what was read is copied once, any other as it comes. */
class MessageReader {
  readonly #options: MessageReaderOptions;
  /** What was read and belongs to no message yet, such as a header that was cut off. */
  #head = NOTHING;
  /** A message of which `#filled` bytes have come. */
  #message: Buffer | undefined;
  #opcode = 0;
  #filled = 0;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** To be read together with what comes next; before anything is read. */
  keep(bytes: Buffer<ArrayBuffer>): void {
    this.#head = bytes;
  }

  /** `chunk` may be used again after the return. */
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

  /** Returns what follows the message that is being read. */
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

/** Undefined where more of it is to come; what is wrong with it as text. */
function headerOf(bytes: Buffer): Header | string | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const size = second === 127 ? 10 : second === 126 ? 4 : 2;
  if (bytes.length < size) return undefined;
  const length = size === 10 ? Number(bytes.readBigUInt64BE(2)) : size === 4 ? bytes.readUInt16BE(2) : second;
  // Of a single frame, without extensions.
  const opcode = first ^ FINAL;
  if (opcode > Opcode.pong || opcode === 0 || (second & MASKED) !== 0)
    return "the other side breaks the WebSocket protocol";
  if (length > MAX_UPLINK_MESSAGE_BYTES) return `a message of ${length} bytes is too long`;
  return { opcode, length, bytes: size };
}

/** With a mask of zeros: it protects proxies on the way, of which there are none. */
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
  return noFollow === true ? connectExactly(socketPath, options) : connect({ path: socketPath, ...options });
}

/** 0 where there is none. */
function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
}

function refusal(answer: string): ServiceError {
  const message = `the server answered with status ${statusOf(answer)}`;
  try {
    const body = Buffer.from(answer.slice(answer.indexOf(END_OF_HEAD) + END_OF_HEAD.length), "latin1");
    return errorFromBody(JSON.parse(body.toString()), "host_unreachable", message);
  } catch {
    return new ServiceError("host_unreachable", message);
  }
}
