import { setInterval } from "node:timers/promises";
import { succeeded } from "../../lib/async/succeeded.ts";
import type { Link, LinkHandlers } from "../../protocol/client/link.ts";
import { errorBody } from "../../protocol/errors.ts";
import { exitEvent, resizeEvent } from "../../protocol/frame/event.ts";
import {
  decodeFrame,
  encodeFrame,
  encodeOutputFrame,
  type Frame,
  FrameType,
  isMalformed,
} from "../../protocol/frame/frame.ts";
import {
  decodeJson,
  decodeSubscribe,
  encodeJson,
  encodeSubscribe,
  type Subscribe,
  SubscribeFlag,
} from "../../protocol/frame/payload.ts";
import { encodeResync } from "../../protocol/frame/resync.ts";
import { parseSize, type SessionRecord, type TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";

/** Interval of lists while there are subscriptions. A session that is listed as exited and silent for as long has ended. */
const LIST_INTERVAL_MS = 2_000;

/** A subscription. Offsets count from its SUBSCRIBE. `isOver`: the client was told of the exit. */
type Count = {
  next: number;
  isOn: boolean;
  isOver: boolean;
  /** `next` when the session was last listed as ended. */
  quietAt?: number;
  size?: TerminalSize;
};

/** The server's sessions; `caughtUp` lists them again. */
export type SpecifiedSessions = Pick<SessionBackend, "get" | "all"> & { caughtUp(): Promise<void> };

type SpecifiedLinkParts = {
  readonly sessions: SpecifiedSessions;
  /** Resolves when everything that the server has sent so far has arrived. */
  readonly arrived: () => Promise<void>;
  /** The server reported the size of a session with a subscription. */
  readonly onResized: (sessionId: string, size: TerminalSize) => void;
};

/**
 * Adapts a link to a server that implements only the specification. It counts output from the subscription on. A
 * subscription with an offset has lost its connection, and perhaps output: it gets RESYNC. Exits and sizes that the server
 * does not report are found in the list.
 */
export class SpecifiedLink implements Link {
  readonly #counts = new Map<string, Count>();
  readonly #link: Link;
  readonly #handlers: LinkHandlers;
  readonly #parts: SpecifiedLinkParts;
  readonly #closed = new AbortController();

  private constructor(link: Link, handlers: LinkHandlers, parts: SpecifiedLinkParts) {
    this.#link = link;
    this.#handlers = handlers;
    this.#parts = parts;
  }

  /** `open`: as OpenLink. */
  static async open(
    open: (handlers: LinkHandlers) => Promise<Link>,
    handlers: LinkHandlers,
    parts: SpecifiedLinkParts,
  ): Promise<SpecifiedLink> {
    let own: SpecifiedLink | undefined;
    const link = await open({
      onMessage: (message) => own?.receive(message),
      onClose: (reason) => {
        own?.close();
        handlers.onClose(reason);
      },
    });
    own = new SpecifiedLink(link, handlers, parts);
    void own.#watchSessions();
    return own;
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes;
  }

  close(): void {
    this.#counts.clear();
    this.#closed.abort();
    this.#link.close();
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
    this.#link.send(message);
  }

  resized(sessionId: string, { cols, rows }: TerminalSize): void {
    const count = this.#counts.get(sessionId);
    const isKnown = count?.size?.cols === cols && count.size.rows === rows;
    if (count?.isOn !== true || isKnown) return;
    count.size = { cols, rows };
    this.#tell(FrameType.EVENT, sessionId, encodeJson(resizeEvent({ cols, rows })));
  }

  /** Not every server answers it, and the directory lists the sessions on the answer. */
  #subscribeGlobal({ flags }: Subscribe): void {
    this.#ask("", flags);
    const event = { type: "connected", timestamp: new Date().toISOString() };
    queueMicrotask(() => this.#tell(FrameType.EVENT, "", encodeJson(event)));
  }

  async #subscribe(sessionId: string, { flags, from }: Subscribe): Promise<void> {
    // One more than was counted: a viewer with all counted output may lack lost output.
    const former = this.#counts.get(sessionId);
    const counted = typeof from === "number" ? from : former?.next || -1;
    const count: Count = { next: counted + 1, isOn: false, isOver: false };
    this.#counts.set(sessionId, count);
    if (former !== undefined) await this.#leave(sessionId);
    const record = await this.#read(sessionId, count);
    if (record === undefined) return;
    count.isOn = true;
    const { cols, rows, status } = record;
    const size = { cols, rows };
    count.size = size;
    const offset = count.next;
    this.#tell(FrameType.SUBSCRIBED, sessionId, encodeJson({ flags, offset, cols, rows, status }));
    if (offset > 0 && (flags & SubscribeFlag.Stdout) !== 0)
      this.#tell(FrameType.RESYNC, sessionId, encodeResync({ offset, size, bytes: NOTHING }));
    this.#ask(sessionId, flags);
  }

  /** Output on its way belongs to the former subscription; a server may send it once more to the next one. */
  async #leave(sessionId: string): Promise<void> {
    this.#link.send(encodeFrame(FrameType.UNSUBSCRIBE, sessionId, NOTHING));
    // Without an answer the link is lost, and the subscription with it.
    await succeeded(this.#parts.arrived());
  }

  /** `undefined` when the subscription was refused or has ended. */
  async #read(sessionId: string, count: Count): Promise<SessionRecord | undefined> {
    const isHeld = (): boolean => this.#counts.get(sessionId) === count;
    try {
      const record = await this.#parts.sessions.get(sessionId);
      return isHeld() ? record : undefined;
    } catch (error) {
      const { error: message, code } = errorBody(error);
      const refusal = encodeJson({ message, code, request: "subscribe" });
      if (isHeld()) this.#tell(FrameType.ERROR, sessionId, refusal);
      return undefined;
    }
  }

  async #watchSessions(): Promise<void> {
    const { signal } = this.#closed;
    const ticks = setInterval(LIST_INTERVAL_MS, undefined, { signal, ref: false });
    try {
      for await (const _ of ticks) await this.#checkSessions();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #checkSessions(): Promise<void> {
    if (this.#counts.size === 0) return;
    const { sessions } = this.#parts;
    if (!(await succeeded(sessions.caughtUp()))) return;
    const listed = new Map(sessions.all().map((record) => [record.id, record]));
    for (const [sessionId, count] of this.#counts) {
      const record = listed.get(sessionId);
      if (record === undefined || !count.isOn || count.isOver) continue;
      this.resized(sessionId, record);
      if (record.status !== "exited") continue;
      const { exitCode = 0, exitSignal } = record;
      if (count.quietAt === count.next)
        this.#end(sessionId, count, exitEvent(sessionId, exitCode, exitSignal));
      count.quietAt = count.next;
    }
  }

  #end(sessionId: string, count: Count, exit: object): void {
    count.isOver = true;
    this.#tell(FrameType.EVENT, sessionId, encodeJson(exit));
  }

  #ask(sessionId: string, flags: number): void {
    const payload = encodeSubscribe({ flags: flags & ~SubscribeFlag.Offsets });
    this.#link.send(encodeFrame(FrameType.SUBSCRIBE, sessionId, payload));
  }

  #tell(type: FrameType, sessionId: string, payload: Uint8Array): void {
    this.#handlers.onMessage(encodeFrame(type, sessionId, payload));
  }

  receive(message: Uint8Array): void {
    try {
      this.#pass(decodeFrame(message), message);
    } catch (error) {
      if (!isMalformed(error)) throw error;
      // The decoder closes the link with the reason.
      this.#handlers.onMessage(message);
    }
  }

  #pass({ type, sessionId, payload }: Frame, message: Uint8Array): void {
    if (type === FrameType.STDOUT) this.#output(sessionId, payload);
    else if (type === FrameType.EVENT) this.#event(sessionId, payload);
    else if (type === FrameType.ERROR) this.#error(sessionId, payload);
    else if (PASSED.has(type)) this.#handlers.onMessage(message);
  }

  /** Errors without a session answer our extensions. Others concern commands: subscriptions are refused here. */
  #error(sessionId: string, payload: Uint8Array): void {
    if (sessionId === "") return;
    const refusal = { ...Object(decodeJson(payload)), request: "command", frame: undefined };
    this.#tell(FrameType.ERROR, sessionId, encodeJson(refusal));
  }

  #output(sessionId: string, bytes: Uint8Array): void {
    const count = this.#counts.get(sessionId);
    if (count?.isOn !== true) return;
    const offset = count.next;
    count.next += bytes.length;
    this.#handlers.onMessage(encodeOutputFrame(sessionId, offset, bytes));
  }

  /** Exit and resize may lack fields that ours have (facts 1.8). */
  #event(sessionId: string, payload: Uint8Array): void {
    const event: Readonly<Record<string, unknown>> = Object(decodeJson(payload));
    const count = this.#counts.get(sessionId);
    const { kind, dimensions } = event;
    const size = kind === "resize" && typeof dimensions === "string" ? parseSize(dimensions) : undefined;
    if (size !== undefined) {
      if (count !== undefined) this.#parts.onResized(sessionId, size);
      return;
    }
    if (event.type === "connected") return;
    if (kind !== "exit") this.#tell(FrameType.EVENT, sessionId, encodeJson(event));
    // The client ignores an exit before it is subscribed. The list has it as well.
    else if (count?.isOn === true)
      this.#end(sessionId, count, { ...exitEvent(sessionId, 0, undefined), ...event });
  }
}

const NOTHING = new Uint8Array();
const PASSED: ReadonlySet<number> = new Set([FrameType.SNAPSHOT_VT, FrameType.PONG]);
