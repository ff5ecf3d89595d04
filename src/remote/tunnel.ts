// Connections of an HQ to a remote that dials it, over the one WebSocket that the remote keeps. They carry the same as TCP
// connections. A message is a kind, the number of a connection and a payload; only the HQ opens connections.
import { Agent } from "node:http";
import { Duplex, finished } from "node:stream";
import { readU32, writeU32 } from "../protocol/frame/frame.ts";

/** `end`: no more data of this side. `credit`: so many more bytes may be sent (u32). */
const Kind = { open: 1, data: 2, end: 3, reset: 4, credit: 5 } as const;
type Kind = (typeof Kind)[keyof typeof Kind];

const HEAD_BYTES = 5;
const NOTHING = new Uint8Array();
/** Data of a connection that its reader has not taken: a reader that stops holds up no other connection. */
const WINDOW_BYTES = 1024 * 1024;
/** Data per message; the connections take turns. */
const PIECE_BYTES = 32 * 1024;
/** Bytes of all connections that wait for the network, so that a key waits behind no more. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** Connections at once; further ones are reset. */
const MAX_CONNECTIONS = 1_000;

/** An open WebSocket. */
type TunnelLink = {
  send(message: Uint8Array, onSent: () => void): void;
  terminate(): void;
};

export class Tunnel {
  readonly #link: TunnelLink;
  readonly #accept: ((connection: Duplex) => void) | undefined;
  readonly #connections = new Map<number, Connection>();
  /** Connections with data to send, the next one first. */
  readonly #sending = new Set<Connection>();
  readonly #closing = Promise.withResolvers<void>();
  #isClosed = false;
  #lastNumber = 0;
  #unsentBytes = 0;

  /** `accept` takes the connections that the other side opens; without it opening one breaks the protocol. */
  constructor(link: TunnelLink, accept?: (connection: Duplex) => void) {
    this.#link = link;
    this.#accept = accept;
  }

  /** Resolves when the link is lost. */
  get closed(): Promise<void> {
    return this.#closing.promise;
  }

  /** A new connection, usable at once. */
  open(): Duplex {
    if (this.#isClosed) throw lost();
    this.#lastNumber += 1;
    this.#send(Kind.open, this.#lastNumber);
    return this.#add(this.#lastNumber).stream;
  }

  /** Handles a message. Closes the tunnel if the other side breaks the protocol. */
  received(message: Uint8Array): void {
    if (!this.#isClosed && !this.#handle(message)) this.close();
  }

  /** Closes the link and all connections. */
  close(): void {
    this.lost();
    this.#link.terminate();
  }

  /** The link is lost. */
  lost(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const connections = [...this.#connections.values()];
    this.#connections.clear();
    this.#sending.clear();
    for (const { stream } of connections) stream.destroy(lost());
    this.#closing.resolve();
  }

  #handle(message: Uint8Array): boolean {
    if (message.length < HEAD_BYTES) return false;
    const number = readU32(message, 1);
    const payload = message.subarray(HEAD_BYTES);
    const [kind] = message;
    if (kind === Kind.open) return this.#opened(number);
    // It may have been closed here meanwhile.
    const connection = this.#connections.get(number);
    if (connection === undefined) return kind !== undefined && kind <= Kind.credit;
    switch (kind) {
      case Kind.data:
        return connection.received(payload);
      case Kind.end:
        return connection.ended();
      case Kind.reset:
        this.#connections.delete(number);
        connection.reset();
        return true;
      case Kind.credit:
        return payload.length === 4 && connection.credited(readU32(payload, 0));
      default:
        return false;
    }
  }

  #opened(number: number): boolean {
    if (this.#accept === undefined || number <= this.#lastNumber) return false;
    this.#lastNumber = number;
    if (this.#connections.size >= MAX_CONNECTIONS) this.#send(Kind.reset, number);
    else this.#accept(this.#add(number).stream);
    return true;
  }

  #add(number: number): Connection {
    const connection = new Connection(number, {
      ready: () => {
        this.#sending.add(connection);
        this.#sendData();
      },
      send: (kind, payload) => this.#send(kind, number, payload),
      closed: (isWhole) => {
        this.#sending.delete(connection);
        if (this.#connections.delete(number) && !isWhole) this.#send(Kind.reset, number);
      },
    });
    this.#connections.set(number, connection);
    // Users of the stream attach their own listener later.
    connection.stream.on("error", () => {});
    return connection;
  }

  /** A connection that has more to send goes behind the others. */
  #sendData(): void {
    for (const connection of this.#sending) {
      if (this.#unsentBytes >= MAX_UNSENT_BYTES) return;
      this.#sending.delete(connection);
      const piece = connection.take();
      if (piece === undefined) continue;
      this.#send(Kind.data, connection.number, piece);
      this.#sending.add(connection);
    }
  }

  #send(kind: Kind, number: number, payload: Uint8Array = NOTHING): void {
    if (this.#isClosed) return;
    const message = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
    message[0] = kind;
    writeU32(message, 1, number);
    message.set(payload, HEAD_BYTES);
    this.#unsentBytes += message.length;
    this.#link.send(message, () => {
      this.#unsentBytes -= message.length;
      this.#sendData();
    });
  }
}

type ConnectionEvents = {
  /** There is data to send, or credit for it. */
  ready(): void;
  send(kind: Kind, payload?: Uint8Array): void;
  /** `isWhole`: both sides have sent everything. */
  closed(isWhole: boolean): void;
};

class Connection {
  readonly number: number;
  readonly stream: Duplex;
  readonly #events: ConnectionEvents;
  /** The rest of the current write. */
  #unsent: Uint8Array = NOTHING;
  #written: (() => void) | undefined;
  /** Bytes that may be sent. */
  #credit = WINDOW_BYTES;
  /** Bytes that may be received, and bytes that were received since the last grant. */
  #allowance = WINDOW_BYTES;
  #ungranted = 0;
  /** The other side has sent everything, and whether it takes nothing more. */
  #hasEnded = false;
  #isReset = false;

  constructor(number: number, events: ConnectionEvents) {
    this.number = number;
    this.#events = events;
    this.stream = new Duplex({
      read: () => this.#grant(),
      write: (chunk: Uint8Array, _, written) => {
        if (chunk.length === 0 || this.#isReset) return written();
        this.#unsent = chunk;
        this.#written = written;
        events.ready();
      },
      final: (done) => {
        events.send(Kind.end);
        done();
      },
      destroy: (error, done) => {
        const { readableEnded, writableFinished } = this.stream;
        events.closed(readableEnded && writableFinished);
        done(error);
      },
    });
  }

  /** The next data to send; `undefined` if there is none, or no credit. */
  take(): Uint8Array | undefined {
    const piece = this.#unsent.subarray(0, Math.min(PIECE_BYTES, this.#credit));
    if (piece.length === 0) return undefined;
    this.#credit -= piece.length;
    this.#unsent = this.#unsent.subarray(piece.length);
    if (this.#unsent.length === 0) {
      const written = this.#written;
      this.#written = undefined;
      // The next write would begin in the middle of this one.
      if (written !== undefined) process.nextTick(written);
    }
    return piece;
  }

  received(data: Uint8Array): boolean {
    if (data.length > this.#allowance || this.#hasEnded) return false;
    this.#allowance -= data.length;
    this.#ungranted += data.length;
    if (data.length > 0) this.stream.push(data);
    return true;
  }

  ended(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.stream.push(null);
    return true;
  }

  /** The other side is gone. Received data is still read, unsent data is dropped. */
  reset(): void {
    if (!this.#hasEnded) this.stream.destroy(lost());
    this.#isReset = true;
    this.#unsent = NOTHING;
    this.#written?.();
    this.#written = undefined;
  }

  credited(bytes: number): boolean {
    this.#credit += bytes;
    this.#events.ready();
    return this.#credit <= WINDOW_BYTES;
  }

  /** The reader has taken all received data. */
  #grant(): void {
    if (this.#ungranted < WINDOW_BYTES / 4) return;
    this.#allowance += this.#ungranted;
    const payload = new Uint8Array(4);
    writeU32(payload, 0, this.#ungranted);
    this.#events.send(Kind.credit, payload);
    this.#ungranted = 0;
  }
}

/** As a lost TCP connection. */
function lost(): Error {
  return Object.assign(new Error("the connection through the tunnel is lost"), { code: "ECONNRESET" });
}

/** Passes data on in both directions, including data that was sent before a close. */
export function joinStreams(connection: Duplex, socket: Duplex): void {
  connection.pipe(socket);
  socket.pipe(connection);
  // The close follows.
  socket.on("error", () => {});
  connection.once("close", () => socket.destroy());
  socket.once("close", () => {
    if (!socket.readableEnded) connection.destroy();
    else finished(connection, { readable: false }, () => connection.destroy());
  });
}

/** Opens a connection to the remote with this id. Rejects if it has no tunnel. */
export type TunnelConnect = (remoteId: string) => Promise<Duplex>;

/** An agent whose connections go through a tunnel. A connection serves one request, since opening another costs nothing. */
export function tunnelAgent(remoteId: string, connect: TunnelConnect): Agent {
  return Object.assign(new Agent(), {
    createConnection: (_: unknown, done: (error: unknown, stream?: Duplex) => void): undefined => {
      connect(remoteId).then((stream) => done(null, stream), done);
    },
  });
}
