import { ServiceError } from "../errors.ts";
import { encodeFrame, FrameType } from "../frame/frame.ts";
import { encodeSize } from "../frame/payload.ts";
import { COMMAND_PING_DELAY_MS, MAX_INPUT_FRAME_BYTES, MAX_UNSENT_BYTES } from "../limits.ts";
import { type SignalName, TerminalSize } from "../schemas/session.ts";
import type { Connection } from "./connection.ts";
import type { Link } from "./link.ts";
import { PendingCommands } from "./pending-commands.ts";

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
