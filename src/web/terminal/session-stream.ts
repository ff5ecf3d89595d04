// A session's output on its way from the socket into the emulator: first the screen as it is, then every byte after it.

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
  /** Bytes that the session has written in all by now. */
  readonly written: () => Promise<number>;
  readonly isShown: () => boolean;
} & SessionStreamHandlers;

/** All but `onAlive`, `onViewers` and `onError` are called in their place in the output: when what came before is parsed. */
export type SessionStreamHandlers = {
  /** With everything that comes, however long it was on its way: must take no time. */
  readonly onAlive: () => void;
  readonly onSize: (size: TerminalSize) => void;
  readonly onSubscribed: (subscribed: Subscribed) => void;
  readonly onEvent: (event: SessionEvent) => void;
  readonly onViewers: (viewers: readonly SessionViewer[]) => void;
  readonly onError: (error: ServiceError) => void;
};

/** A screen that is ahead by less than this is not worth its drawing: the output gets there as fast. */
const MIN_SKIP_BYTES = 1024 * 1024;

const FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Events | ClientFlag.Viewers;

/** Of the past, whatever the session's offsets are. */
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

  /** The offset of the byte that comes next; undefined while it is not known. */
  get nextOffset(): number | undefined {
    const next = this.#attachment?.next;
    return next === "live" ? undefined : next;
  }

  /** Bytes that came and are not parsed yet. */
  get backlog(): Backlog {
    const { unparsedBytes, parsingBytes, parsingLimit } = this.#queue;
    return { unparsedBytes, parsingBytes, parsingLimit };
  }

  /** Whether what is being parsed right now was written just now. */
  get isParsingLive(): boolean {
    const offset = this.#queue.parsingOffset;
    return offset !== undefined && this.#liveEdge.has(offset);
  }

  /** What comes is the past, until it is found where that ends. */
  cut(): void {
    this.#liveEdge.cut();
  }

  /** To be called when there is contact again. */
  findPresent(): void {
    this.#liveEdge.find();
  }

  /** Somebody typed something, and wants to see what comes of it. */
  typed(): void {
    this.#catchUp.typed();
  }

  /** Draws the screen of now and follows the output from there on. Throws what the request for the screen throws. */
  async begin(): Promise<void> {
    const resync = await this.#options.screen();
    if (!this.#isDisposed) this.#follow(resync);
  }

  /** The offset up to which output is parsed; infinite while it is not known. */
  get #parsedTo(): number {
    return (this.nextOffset ?? Number.POSITIVE_INFINITY) - this.#queue.unparsedBytes;
  }

  /** Output goes on while the screen is made, and may have come as far. */
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
    // `onFull` was called for the attachment before; `onRoom` is to come.
    if (this.#queue.isFull) this.#attachment.pause();
  }

  /** Calls `run` when all that came before is parsed. */
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
