// A WebSocket client with minimal work: no masking (the key is zero, which costs nothing), no copies, messages passed
// on in the received pieces. The load generator must not be the bottleneck.
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

const READ_BUFFER_BYTES = 256 * 1024;
/** Longer answers to the upgrade are refused. */
const MAX_HANDSHAKE_BYTES = 16 * 1024;
/** Two bytes, eight of length; a server sends no mask. */
const MAX_HEADER_BYTES = 10;
const Opcode = { Continuation: 0, Text: 1, Binary: 2, Close: 8, Ping: 9, Pong: 10 } as const;

/** Receives messages. Pieces are views of a reused buffer, which nothing may keep. */
export type MessageSink = {
  begin(): void;
  piece(bytes: Uint8Array): void;
  end(): void;
  /** The connection ended, for any reason. */
  closed(reason: string): void;
};

export type Address = { readonly port: number; readonly path: string; readonly subprotocol?: string };

/** One connection to a server on loopback. */
export class WebSocketClient implements Disposable {
  readonly #socket: Socket;
  readonly #sink: MessageSink;
  readonly #opened = Promise.withResolvers<void>();
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
  #handshake: Buffer | undefined = Buffer.alloc(0);
  #headerLength = 0;
  #left = 0;
  #isLast = true;
  #isControl = false;
  #opcode = 0;
  /** At most 125 bytes, the limit of a control message. */
  #control: Buffer[] = [];
  #bytesPerSecond: number | undefined;
  #isPaused = false;

  constructor(address: Address, sink: MessageSink) {
    this.#sink = sink;
    this.#opened.promise.catch(() => {});
    this.#socket = connect({
      host: "127.0.0.1",
      port: address.port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES),
        callback: (length, buffer) => this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, length)),
      },
    });
    this.#socket.on("connect", () => this.#socket.write(upgradeRequest(address)));
    this.#socket.on("error", (error) => this.#close(error.message));
    this.#socket.on("close", () => this.#close("connection closed"));
  }

  /** Resolves when the server has accepted the upgrade. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  send(message: Uint8Array, opcode: number = Opcode.Binary): void {
    const long = message.length > 125;
    const header = Buffer.alloc(long ? 8 : 6);
    header[0] = 0x80 | opcode;
    header[1] = 0x80 | (long ? 126 : message.length);
    if (long) header.writeUInt16BE(message.length, 2);
    this.#socket.write(Buffer.concat([header, message]));
  }

  /** Limits reading to that rate, until it is called with undefined. */
  throttle(bytesPerSecond: number | undefined): void {
    this.#bytesPerSecond = bytesPerSecond;
    if (bytesPerSecond === undefined && !this.#isPaused) this.#socket.resume();
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #close(reason: string): void {
    this.#opened.reject(new Error(reason));
    this.#sink.closed(reason);
  }

  #read(bytes: Buffer): boolean {
    const rest = this.#handshake === undefined ? bytes : this.#readHandshake(bytes);
    if (rest.length > 0) this.#readFrames(rest);
    if (this.#isPaused) return false;
    if (this.#bytesPerSecond === undefined) return true;
    setTimeout(() => this.#isPaused || this.#socket.resume(), (bytes.length / this.#bytesPerSecond) * 1000);
    return false;
  }

  #readHandshake(bytes: Buffer): Buffer {
    const all = Buffer.concat([this.#handshake ?? bytes, bytes]);
    const end = all.indexOf("\r\n\r\n");
    if (end < 0 && all.length < MAX_HANDSHAKE_BYTES) {
      this.#handshake = all;
      return all.subarray(all.length);
    }
    const status = all.toString("latin1", 0, all.indexOf("\r\n"));
    if (end < 0 || !status.startsWith("HTTP/1.1 101")) {
      this.#close(`no upgrade: ${status}`);
      this.#socket.destroy();
      return all.subarray(all.length);
    }
    this.#handshake = undefined;
    this.#opened.resolve();
    return all.subarray(end + 4);
  }

  #readFrames(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left === 0) {
        at = this.#readHeader(bytes, at);
        continue;
      }
      const end = Math.min(bytes.length, at + this.#left);
      this.#left -= end - at;
      this.#take(bytes.subarray(at, end));
      at = end;
    }
  }

  #readHeader(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && this.#headerLength < this.#headerBytes()) {
      this.#header[this.#headerLength++] = bytes[at++] ?? 0;
    }
    if (this.#headerLength < this.#headerBytes()) return at;
    const short = (this.#header[1] ?? 0) & 127;
    this.#left =
      short < 126
        ? short
        : short === 126
          ? this.#header.readUInt16BE(2)
          : Number(this.#header.readBigUInt64BE(2));
    this.#isLast = ((this.#header[0] ?? 0) & 0x80) !== 0;
    this.#opcode = (this.#header[0] ?? 0) & 15;
    this.#isControl = this.#opcode >= Opcode.Close;
    this.#headerLength = 0;
    if (!this.#isControl && this.#opcode !== Opcode.Continuation) this.#sink.begin();
    if (this.#left === 0) this.#take(bytes.subarray(0, 0));
    return at;
  }

  #headerBytes(): number {
    if (this.#headerLength < 2) return 2;
    const short = (this.#header[1] ?? 0) & 127;
    return short < 126 ? 2 : short === 126 ? 4 : MAX_HEADER_BYTES;
  }

  #take(bytes: Buffer): void {
    if (!this.#isControl) {
      if (bytes.length > 0) this.#sink.piece(bytes);
      if (this.#left === 0 && this.#isLast) this.#sink.end();
      return;
    }
    this.#control.push(Buffer.from(bytes));
    if (this.#left > 0) return;
    const payload = Buffer.concat(this.#control);
    this.#control = [];
    if (this.#opcode === Opcode.Ping) this.send(payload, Opcode.Pong);
    if (this.#opcode === Opcode.Close) this.#socket.end();
  }
}

function upgradeRequest(address: Address): string {
  const lines = [
    `GET ${address.path} HTTP/1.1`,
    `Host: 127.0.0.1:${address.port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
  ];
  if (address.subprotocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${address.subprotocol}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
