import { ServiceError } from "../errors.ts";
import { encodeFrame, FrameType, maxPayloadBytes } from "../frame/frame.ts";
import { encodeSize } from "../frame/payload.ts";
import { COMMAND_PING_DELAY_MS, MAX_PENDING_COMMANDS, MAX_UNSENT_BYTES } from "../limits.ts";
import type { SignalName, TerminalSize } from "../schemas/session.ts";
import { incompleteUtf8Bytes } from "../whole-characters.ts";
import type { Connection } from "./connection.ts";

const encoder = new TextEncoder();

/** A frame without an answer yet. The server answers by an ERROR or, if it succeeds, only the next PING. */
type Pending = {
  /** "" if no ERROR can refer to it. */
  readonly sessionId: string;
  /** Number of its frame on the link. */
  readonly frame?: number | undefined;
  /** Number of the next PING after the frame. */
  readonly ping: number;
  readonly done: () => void;
  readonly failed: (error: ServiceError) => void;
};

/**
 * Sends commands and reports their outcome: one PING follows all commands of COMMAND_PING_DELAY_MS (contract 1.10). The
 * server handles frames in order, so the PONG confirms everything before its PING. Commands are sent at once or refused,
 * never kept for a later link.
 */
export class CommandSender {
  readonly #connection: Pick<Connection, "link" | "send" | "ping" | "nextPing">;
  /** In the order of sending. */
  readonly #pending: Pending[] = [];
  #isPingDue = false;

  constructor(connection: Pick<Connection, "link" | "send" | "ping" | "nextPing">) {
    this.#connection = connection;
  }

  async write(sessionId: string, bytes: Uint8Array): Promise<void> {
    this.#checkLink(bytes.length);
    const parts: Promise<void>[] = [];
    // Empty input is sent as well: the answer says whether the session takes input.
    for (let rest = bytes; parts.length === 0 || rest.length > 0; ) {
      const part = firstPart(rest, maxPayloadBytes(sessionId));
      parts.push(this.#command(FrameType.INPUT_TEXT, sessionId, part));
      rest = rest.subarray(part.length);
    }
    await Promise.all(parts);
  }

  async resize(sessionId: string, size: TerminalSize): Promise<void> {
    await this.#command(FrameType.RESIZE, sessionId, encodeSize(size));
  }

  async kill(sessionId: string, signal: SignalName): Promise<void> {
    await this.#command(FrameType.KILL, sessionId, encoder.encode(signal));
  }

  /**
   * Ends a subscription. `left` is called when the server has handled it and sends nothing more of the subscription; not if
   * the link is lost before.
   */
  unsubscribe(sessionId: string, left: () => void): void {
    const frame = this.#connection.send(encodeFrame(FrameType.UNSUBSCRIBE, sessionId, new Uint8Array()));
    if (frame === undefined) return;
    this.#add({ sessionId: "", done: left, failed: () => undefined });
    this.#pingLater();
  }

  async caughtUp(): Promise<void> {
    this.#checkLink(0);
    const answered = new Promise<void>((done, failed) => this.#add({ sessionId: "", done, failed }));
    this.#connection.ping();
    await answered;
  }

  /** Resolves when all frames that were sent have an answer; rejects if the link is lost before. */
  async settled(): Promise<void> {
    if (this.#pending.length > 0) await this.caughtUp();
  }

  answered(ping: number): void {
    const last = this.#pending.findLastIndex((command) => command.ping === ping);
    for (const { done } of this.#pending.splice(0, last + 1)) done();
  }

  /** Handles an ERROR of the session; false if it refers to no command. */
  failed(sessionId: string, error: ServiceError, frame: number | undefined): boolean {
    const index =
      frame === undefined
        ? this.#likely(sessionId)
        : this.#pending.findIndex((command) => command.sessionId === sessionId && command.frame === frame);
    if (index < 0) return false;
    for (const { failed } of this.#pending.splice(index, 1)) failed(error);
    return true;
  }

  lost(error: ServiceError): void {
    const message = `${error.message}; the last input may not have arrived`;
    const unknown = new ServiceError("host_unreachable", message, { cause: error });
    for (const { failed } of this.#pending.splice(0)) failed(unknown);
  }

  async #command(type: number, sessionId: string, payload: Uint8Array): Promise<void> {
    this.#checkLink(0);
    const { length } = this.#pending;
    if (length >= MAX_PENDING_COMMANDS)
      throw new ServiceError("host_unreachable", `${length} commands already wait for an answer`);
    const frame = this.#connection.send(encodeFrame(type, sessionId, payload));
    this.#pingLater();
    await new Promise<void>((done, failed) => this.#add({ sessionId, frame, done, failed }));
  }

  /**
   * The index of the command that failed at a server that does not number its errors: of those before the same PING the
   * last one, because a session that ends in between refuses the last ones.
   */
  #likely(sessionId: string): number {
    const first = this.#pending.find((command) => command.sessionId === sessionId);
    return this.#pending.findLastIndex(
      (command) => command.sessionId === sessionId && command.ping === first?.ping,
    );
  }

  #add(command: Omit<Pending, "ping">): void {
    this.#pending.push({ ...command, ping: this.#connection.nextPing });
  }

  /** Throws `host_unreachable` without a link, or if too much waits in it already. */
  #checkLink(bytes: number): void {
    const { link } = this.#connection;
    if (link === undefined)
      throw new ServiceError("host_unreachable", "there is no connection to the server");
    const waiting = link.bufferedBytes;
    if (waiting + bytes <= MAX_UNSENT_BYTES) return;
    throw new ServiceError("host_unreachable", `the connection is too slow: ${waiting} bytes are unsent`);
  }

  #pingLater(): void {
    if (this.#isPingDue) return;
    this.#isPingDue = true;
    // Delayed, so that the PING does not hold up the effect of a key.
    setTimeout(() => {
      this.#isPingDue = false;
      const { link, nextPing } = this.#connection;
      if (link !== undefined && this.#pending.at(-1)?.ping === nextPing) this.#connection.ping();
    }, COMMAND_PING_DELAY_MS);
  }
}

/** As much input as one frame carries: a session refuses or takes a frame as a whole. Other servers decode each as text. */
function firstPart(input: Uint8Array, most: number): Uint8Array {
  if (input.length <= most) return input;
  return input.subarray(0, most - incompleteUtf8Bytes(input.subarray(0, most)));
}
