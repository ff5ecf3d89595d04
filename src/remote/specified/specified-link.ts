import type { Link, LinkHandlers } from "../../protocol/client/link.ts";
import { errorBody } from "../../protocol/errors.ts";
import { resizeEvent } from "../../protocol/frame/event.ts";
import { decodeFrame, encodeFrame, type Frame, FrameError, FrameType } from "../../protocol/frame/frame.ts";
import {
  decodeJson,
  decodeSubscribe,
  encodeJson,
  encodeOutputFrame,
  encodeResync,
  encodeSubscribe,
  PayloadError,
  type Subscribe,
  SubscribeFlag,
} from "../../protocol/frame/payload.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";

/** Where a subscription stands. Output counts from the SUBSCRIBE on; what comes before that is another one's. */
type Count = { next: number; isOn: boolean };

/**
 * A link to a server that knows the specification alone, in the words of one of ours. Bytes are numbered here, from the
 * subscription on. A subscription that names a byte has had a cut, in which output may have been lost: it gets RESYNC.
 */
export class SpecifiedLink implements Link {
  readonly #counts = new Map<string, Count>();
  readonly #deliver: (message: Uint8Array) => void;
  readonly #get: (id: string) => Promise<SessionRecord>;
  #link: Link | undefined;

  private constructor(handlers: LinkHandlers, get: (id: string) => Promise<SessionRecord>) {
    this.#deliver = (message) => handlers.onMessage(message);
    this.#get = get;
  }

  /** `open`: as OpenLink. `get`: the record of a session. */
  static async open(
    open: (handlers: LinkHandlers) => Promise<Link>,
    handlers: LinkHandlers,
    get: (id: string) => Promise<SessionRecord>,
  ): Promise<Link> {
    const link = new SpecifiedLink(handlers, get);
    return await link.#over(open({ ...handlers, onMessage: (message) => link.#received(message) }));
  }

  get bufferedBytes(): number {
    return this.#link?.bufferedBytes ?? 0;
  }

  close(): void {
    this.#counts.clear();
    this.#link?.close();
  }

  send(message: Uint8Array): void {
    const { type, sessionId, payload } = decodeFrame(message);
    if (type === FrameType.HELLO) return;
    if (type === FrameType.SUBSCRIBE) {
      const request = decodeSubscribe(payload);
      if (sessionId === "") this.#subscribeGlobal(request);
      else void this.#subscribe(sessionId, request);
      return;
    }
    if (type === FrameType.UNSUBSCRIBE) this.#counts.delete(sessionId);
    this.#link?.send(message);
  }

  async #over(opening: Promise<Link>): Promise<Link> {
    this.#link = await opening;
    return this;
  }

  /** Not every server answers it, and whoever mirrors the sessions reads them when it is answered. */
  #subscribeGlobal({ flags }: Subscribe): void {
    this.#ask("", flags);
    const event = { type: "connected", timestamp: new Date().toISOString() };
    queueMicrotask(() => this.#tell(FrameType.EVENT, "", encodeJson(event)));
  }

  async #subscribe(sessionId: string, { flags, from }: Subscribe): Promise<void> {
    // One more than was counted: whoever has all that was counted may lack what was lost, too.
    const count = { next: typeof from === "number" ? from + 1 : 0, isOn: false };
    this.#counts.set(sessionId, count);
    const record = await this.#get(sessionId).catch((error: unknown) => {
      const { error: message, code } = errorBody(error);
      if (this.#counts.get(sessionId) !== count) return;
      this.#tell(FrameType.ERROR, sessionId, encodeJson({ message, code, request: "subscribe" }));
    });
    if (record === undefined || this.#counts.get(sessionId) !== count) return;
    const { cols, rows, status } = record;
    const offset = count.next;
    count.isOn = true;
    this.#tell(FrameType.SUBSCRIBED, sessionId, encodeJson({ flags, offset, cols, rows, status }));
    if (offset > 0 && (flags & SubscribeFlag.Stdout) !== 0) {
      const resync = encodeResync({ offset, size: { cols, rows }, bytes: new Uint8Array() });
      this.#tell(FrameType.RESYNC, sessionId, resync);
    }
    this.#ask(sessionId, flags);
  }

  #ask(sessionId: string, flags: number): void {
    const payload = encodeSubscribe({ flags: flags & ~SubscribeFlag.Offsets });
    this.#link?.send(encodeFrame(FrameType.SUBSCRIBE, sessionId, payload));
  }

  #tell(type: FrameType, sessionId: string, payload: Uint8Array): void {
    this.#deliver(encodeFrame(type, sessionId, payload));
  }

  #received(message: Uint8Array): void {
    try {
      this.#pass(decodeFrame(message), message);
    } catch (error) {
      if (!(error instanceof FrameError || error instanceof PayloadError)) throw error;
      // Whoever decodes it gives up the link, and says why.
      this.#deliver(message);
    }
  }

  #pass({ type, sessionId, payload }: Frame, message: Uint8Array): void {
    if (type === FrameType.STDOUT) this.#output(sessionId, payload);
    else if (type === FrameType.EVENT) this.#event(sessionId, payload);
    else if (type === FrameType.ERROR) this.#error(sessionId, payload);
    else if (PASSED.has(type)) this.#deliver(message);
  }

  /** About no session: it answers what such a server need not know. Else it is no SUBSCRIBE's, which are refused here. */
  #error(sessionId: string, payload: Uint8Array): void {
    if (sessionId === "") return;
    this.#tell(
      FrameType.ERROR,
      sessionId,
      encodeJson({ ...Object(decodeJson(payload)), request: "command" }),
    );
  }

  #output(sessionId: string, bytes: Uint8Array): void {
    const count = this.#counts.get(sessionId);
    if (count === undefined || !count.isOn) return;
    const offset = count.next;
    count.next += bytes.length;
    this.#deliver(encodeOutputFrame(sessionId, offset, bytes));
  }

  /** The exit and a resize may come with less than ours (facts 1.8). */
  #event(sessionId: string, payload: Uint8Array): void {
    const event: Readonly<Record<string, unknown>> = Object(decodeJson(payload));
    const [, cols, rows] = /^(\d+)x(\d+)$/.exec(String(event.dimensions)) ?? [];
    const isResize = event.kind === "resize" && cols !== undefined;
    const resize = isResize ? resizeEvent({ cols: Number(cols), rows: Number(rows) }) : {};
    const exit = event.kind === "exit" ? { type: "session-exit", sessionId, exitCode: 0 } : {};
    if (event.type === "connected") return;
    this.#tell(FrameType.EVENT, sessionId, encodeJson({ ...exit, ...resize, ...event }));
  }
}

const PASSED: ReadonlySet<number> = new Set([FrameType.SNAPSHOT_VT, FrameType.PONG]);
