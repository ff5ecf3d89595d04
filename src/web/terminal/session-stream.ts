// Delivers a session's output from the socket to the emulator: first the current screen, then every byte after it.

import type { Attachment, SessionSocket } from "../../protocol/client/session-socket.ts";
import type { ServiceError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/frame/event.ts";
import { ClientFlag, type Subscribed, SubscribeFlag } from "../../protocol/frame/payload.ts";
import type { Resync } from "../../protocol/frame/resync.ts";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionViewer } from "../../protocol/schemas/viewer.ts";
import { CatchUp } from "./catch-up.ts";
import type { Emulator } from "./emulator/emulator.ts";
import { LiveEdge } from "./live-edge.ts";
import { type Backlog, OutputQueue } from "./output-queue.ts";

export type SessionStreamOptions = {
  readonly id: string;
  readonly socket: Pick<SessionSocket, "attach">;
  readonly emulator: Pick<Emulator, "write" | "resize" | "resetBytes">;
  /** The screen, its scrollback and modes at an offset. */
  readonly screen: () => Promise<Resync>;
  /** The total number of bytes that the session has written. */
  readonly written: () => Promise<number>;
  readonly isShown: () => boolean;
} & SessionStreamHandlers;

/**
 * All but `onAlive`, `onViewers` and `onError` are called at their place in the output: when all earlier output is
 * parsed.
 */
export type SessionStreamHandlers = {
  /** Called for everything that arrives, even after a long delay: must return at once. */
  readonly onAlive: () => void;
  readonly onSize: (size: TerminalSize) => void;
  readonly onSubscribed: (subscribed: Subscribed) => void;
  readonly onEvent: (event: SessionEvent) => void;
  readonly onViewers: (viewers: readonly SessionViewer[]) => void;
  readonly onError: (error: ServiceError) => void;
};

/** A screen with less lead than this is not worth drawing: the output gets there as fast. */
const MIN_SKIP_BYTES = 1024 * 1024;

const FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Events | ClientFlag.Viewers;

/** For earlier output, regardless of the session's offsets. */
const NEVER = Number.NEGATIVE_INFINITY;

export class SessionStream implements Disposable {
  readonly #options: SessionStreamOptions;
  readonly #queue: OutputQueue;
  readonly #catchUp: CatchUp;
  readonly #liveEdge: LiveEdge;
  #attachment: Attachment | undefined;
  #isDisposed = false;

  constructor(options: SessionStreamOptions) {
    this.#options = options;
    this.#queue = new OutputQueue({
      parse: (bytes, parsed) => options.emulator.write(bytes, parsed),
      onFull: () => this.#attachment?.pause(),
      onRoom: () => this.#attachment?.resume(),
      now: () => performance.now(),
    });
    this.#liveEdge = new LiveEdge({ written: options.written });
    this.#catchUp = new CatchUp({
      behind: async () => {
        const written = await options.written();
        return written - this.#parsedTo;
      },
      skip: () => this.#skip(),
      isShown: options.isShown,
      now: () => performance.now(),
    });
  }

  /** The offset of the next byte; undefined while it is unknown. */
  get nextOffset(): number | undefined {
    const next = this.#attachment?.next;
    return next === "live" ? undefined : next;
  }

  /** Received bytes that are not parsed yet. */
  get backlog(): Backlog {
    return this.#queue;
  }

  /** Whether the output that is being parsed is live. */
  get isParsingLive(): boolean {
    const offset = this.#queue.parsingOffset;
    return offset !== undefined && this.#liveEdge.has(offset);
  }

  /** Output counts as earlier output until the boundary is known. */
  cut(): void {
    this.#liveEdge.cut();
  }

  /** Must be called when the machine is reachable again. */
  findPresent(): void {
    if (this.#attachment !== undefined) this.#liveEdge.find();
  }

  /** Reports input, whose effect the person wants to see. */
  typed(): void {
    this.#catchUp.typed();
  }

  /** Draws the current screen and follows the output from there. Throws the errors of the request for the screen. */
  async begin(): Promise<void> {
    const resync = await this.#options.screen();
    if (!this.#isDisposed) this.#follow(resync);
  }

  /** The offset up to which output is parsed; infinite while it is unknown. */
  get #parsedTo(): number {
    return (this.nextOffset ?? Number.POSITIVE_INFINITY) - this.#queue.unparsedBytes;
  }

  /** Output continues while the screen is made, and may have come as far. */
  async #skip(): Promise<void> {
    const resync = await this.#options.screen();
    if (!this.#isDisposed && resync.offset - this.#parsedTo >= MIN_SKIP_BYTES) this.#follow(resync);
  }

  #follow(resync: Resync): void {
    this.#attachment?.[Symbol.dispose]();
    this.#redraw(resync);
    this.#attachment = this.#options.socket.attach(
      this.#options.id,
      { from: resync.offset, flags: FLAGS },
      {
        onSubscribed: (subscribed) => this.#heard(() => this.#options.onSubscribed(subscribed)),
        onOutput: ({ offset, bytes }) => this.#output(offset, bytes),
        onResync: (missing) => {
          this.#redraw(missing);
          this.#liveEdge.found(missing.offset);
        },
        onEvent: (event) => this.#heard(() => this.#options.onEvent(event)),
        onViewers: (viewers) => this.#options.onViewers(viewers),
        onError: (error) => this.#options.onError(error),
      },
    );
    // `onFull` was called for the previous attachment, without `onRoom` yet.
    if (this.#queue.isFull) this.#attachment.pause();
  }

  /** Calls `run` when all earlier output is parsed. */
  afterwards(run: () => void): void {
    this.#queue.afterwards(run);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#liveEdge[Symbol.dispose]();
    this.#attachment?.[Symbol.dispose]();
    this.#queue.clear();
  }

  #heard(run: () => void): void {
    this.#options.onAlive();
    this.afterwards(run);
  }

  #output(offset: number, bytes: Uint8Array): void {
    this.#options.onAlive();
    this.#queue.push(offset, bytes);
    this.#catchUp.received(bytes.length);
  }

  #redraw({ offset, size, bytes }: Resync): void {
    const { emulator, onSize } = this.#options;
    this.#queue.clear();
    this.#queue.push(NEVER, emulator.resetBytes);
    this.#queue.afterwards(() => {
      emulator.resize(size);
      onSize(size);
    });
    this.#queue.push(NEVER, bytes);
    this.#liveEdge.at(offset);
  }
}
