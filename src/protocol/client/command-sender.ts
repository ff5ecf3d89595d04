import { ServiceError } from "../errors.ts";
import { encodeFrame, FrameType } from "../frame/frame.ts";
import { encodeSize } from "../frame/payload.ts";
import {
  COMMAND_PING_DELAY_MS,
  MAX_INPUT_FRAME_BYTES,
  MAX_PENDING_COMMANDS,
  MAX_UNSENT_BYTES,
} from "../limits.ts";
import { type SignalName, TerminalSize } from "../schemas/session.ts";
import type { Connection } from "./connection.ts";
import type { Link } from "./link.ts";

const encoder = new TextEncoder();

/**
 * Sends frames that the server acts upon, and finds out what became of them: one PING follows all that were sent within
 * COMMAND_PING_DELAY_MS (contract 1.10). Everything is sent at once or refused; nothing is kept for a later link.
 */
export class CommandSender {
  readonly #connection: Pick<Connection, "link" | "ping">;
  readonly #pending = new PendingCommands();
  #isPingDue = false;

  constructor(connection: Pick<Connection, "link" | "ping">) {
    this.#connection = connection;
  }

  /** As SessionSocket.write. */
  async write(sessionId: string, bytes: Uint8Array): Promise<void> {
    this.#link(bytes.length);
    const parts: Promise<void>[] = [];
    // Also of no bytes: whether the server takes input is an answer, too.
    for (let start = 0; start === 0 || start < bytes.length; start += MAX_INPUT_FRAME_BYTES) {
      const part = bytes.subarray(start, start + MAX_INPUT_FRAME_BYTES);
      parts.push(this.#command(FrameType.INPUT_TEXT, sessionId, part));
    }
    await Promise.all(parts);
  }

  async resize(sessionId: string, size: TerminalSize): Promise<void> {
    if (!TerminalSize.safeParse(size).success) {
      throw new ServiceError("invalid_request", `${size.cols}x${size.rows} is no size of a terminal`);
    }
    await this.#command(FrameType.RESIZE, sessionId, encodeSize(size));
  }

  async kill(sessionId: string, signal: SignalName): Promise<void> {
    await this.#command(FrameType.KILL, sessionId, encoder.encode(signal));
  }

  /**
   * Ends a subscription. `left` is called when the server has dealt with it: nothing that belongs to it comes then any
   * more. Nobody calls when the link is lost before.
   */
  unsubscribe(sessionId: string, left: () => void): void {
    const { link } = this.#connection;
    if (link === undefined) return;
    link.send(encodeFrame(FrameType.UNSUBSCRIBE, sessionId, new Uint8Array()));
    this.#pending.add({ sessionId: "", done: left, failed: () => undefined });
    this.#pingLater();
  }

  /** As SessionSocket.caughtUp. */
  async caughtUp(): Promise<void> {
    this.#link(0);
    const answered = new Promise<void>((done, failed) => {
      this.#pending.add({ sessionId: "", done, failed });
    });
    this.ask();
    await answered;
  }

  /** Whether something that was sent has no answer yet. */
  get isWaiting(): boolean {
    return this.#pending.isWaiting;
  }

  /** Asks at once what became of all that was sent. Returns whether an answer is due. */
  ask(): boolean {
    if (this.#pending.hasUnsealed && this.#connection.link !== undefined) {
      this.#pending.seal(this.#connection.ping());
    }
    return this.isWaiting;
  }

  answered(ping: number): void {
    this.#pending.answered(ping);
  }

  /** Returns whether a command was meant by the ERROR. */
  failed(sessionId: string, error: ServiceError): boolean {
    return this.#pending.failed(sessionId, error);
  }

  lost(error: ServiceError): void {
    const message = `${error.message}; it is not known whether the last input arrived`;
    this.#pending.lost(new ServiceError("host_unreachable", message, { cause: error }));
  }

  async #command(type: number, sessionId: string, payload: Uint8Array): Promise<void> {
    const link = this.#link(0);
    this.#pending.checkRoom();
    link.send(encodeFrame(type, sessionId, payload));
    this.#pingLater();
    await new Promise<void>((done, failed) => {
      this.#pending.add({ sessionId, done, failed });
    });
  }

  #link(bytes: number): Link {
    const { link } = this.#connection;
    if (link === undefined)
      throw new ServiceError("host_unreachable", "there is no connection to the server");
    const waiting = link.bufferedBytes;
    if (waiting + bytes <= MAX_UNSENT_BYTES) return link;
    throw new ServiceError("host_unreachable", `the connection is too slow: ${waiting} bytes wait in it`);
  }

  #pingLater(): void {
    if (this.#isPingDue) return;
    this.#isPingDue = true;
    // Not at once: what a key does shall not wait for the question what became of it.
    setTimeout(() => {
      this.#isPingDue = false;
      this.ask();
    }, COMMAND_PING_DELAY_MS);
  }
}

/** A frame that the server answers by an ERROR or, in that it answers a later PING, by nothing. */
type PendingCommand = {
  /** "" for what no ERROR can be about. */
  readonly sessionId: string;
  readonly done: () => void;
  readonly failed: (error: ServiceError) => void;
};

type Group = { readonly ping: number; readonly commands: Set<PendingCommand> };

/**
 * Which frames of a connection still wait for their outcome. The server handles frames in order, so a PONG says that
 * everything before its PING was dealt with, its ERROR sent if there is one. At most MAX_PENDING_COMMANDS wait; one
 * more is refused.
 */
class PendingCommands {
  /** Sent, no PING after them yet. */
  #open = new Set<PendingCommand>();
  readonly #groups: Group[] = [];
  #size = 0;

  /** Throws `host_unreachable` when too many wait. */
  checkRoom(): void {
    if (this.#size < MAX_PENDING_COMMANDS) return;
    throw new ServiceError("host_unreachable", `${this.#size} commands wait for an answer already`);
  }

  add(command: PendingCommand): void {
    this.#open.add(command);
    this.#size += 1;
  }

  get hasUnsealed(): boolean {
    return this.#open.size > 0;
  }

  get isWaiting(): boolean {
    return this.#size > 0;
  }

  /** A PING was sent: what was added before it is settled by the PONG with the same number. */
  seal(ping: number): void {
    this.#groups.push({ ping, commands: this.#open });
    this.#open = new Set();
  }

  answered(ping: number): void {
    const last = this.#groups.findIndex((group) => group.ping === ping);
    for (const { commands } of this.#groups.splice(0, last + 1)) {
      this.#size -= commands.size;
      for (const command of commands) command.done();
    }
  }

  /**
   * An ERROR that names the session: true if a command was meant. It is looked for in the oldest group that has any for
   * the session, and is the newest there: a session that ends while they are on their way refuses the last ones.
   */
  failed(sessionId: string, error: ServiceError): boolean {
    for (const commands of this.#all()) {
      const meant = [...commands].findLast((command) => command.sessionId === sessionId);
      if (meant === undefined) continue;
      commands.delete(meant);
      this.#size -= 1;
      meant.failed(error);
      return true;
    }
    return false;
  }

  /** The connection is gone, and with it every answer. */
  lost(error: ServiceError): void {
    const all = [...this.#all()].flatMap((commands) => [...commands]);
    this.#open = new Set();
    this.#groups.length = 0;
    this.#size = 0;
    for (const command of all) command.failed(error);
  }

  *#all(): Generator<Set<PendingCommand>> {
    for (const group of this.#groups) yield group.commands;
    yield this.#open;
  }
}
