// A server of /ws in memory: sessions are byte arrays, a link is two queues that the test empties or cuts.

import type { Link, LinkHandlers, OpenLink } from "../../../src/protocol/client/link.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import {
  decodeFrame,
  encodeFrame,
  encodeOutputFrame,
  type Frame,
  FrameType,
} from "../../../src/protocol/frame/frame.ts";
import { decodeSubscribe, encodeJson, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { encodeResync } from "../../../src/protocol/frame/resync.ts";

export type MemorySession = {
  output: Uint8Array;
  /** Bytes before this are not held: a request for them gets RESYNC. */
  held: number;
  exitCode: number | undefined;
  readonly input: Uint8Array[];
};

type Sent = { readonly cursor: number };

export class MemoryLink {
  readonly handlers: LinkHandlers;
  /** Messages to the client that were not delivered yet. */
  readonly outgoing: Uint8Array[] = [];
  readonly received: Frame[] = [];
  readonly cursors = new Map<string, Sent>();
  isOpen = true;
  isSilent = false;

  constructor(handlers: LinkHandlers) {
    this.handlers = handlers;
  }

  deliver(count: number): void {
    for (const message of this.outgoing.splice(0, count)) if (this.isOpen) this.handlers.onMessage(message);
  }

  cut(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.handlers.onClose({ code: 1006, text: "" });
  }
}

export class MemoryServer {
  readonly sessions = new Map<string, MemorySession>();
  readonly links: MemoryLink[] = [];
  /** How many bytes before the asked offset output begins: a server that repeats. */
  overlap = 0;
  chunk = 64;
  /** The rejection of `open`. */
  refusal: unknown;
  /** Sent in front of the PONG, once. */
  errorsForCommands: ServiceError[] = [];
  isManual = false;
  /** Whether an UNSUBSCRIBE also drops undelivered frames. */
  isDropping = false;
  opens = 0;

  readonly open: OpenLink = async (handlers) => {
    this.opens += 1;
    if (this.refusal !== undefined) throw this.refusal;
    const link = new MemoryLink(handlers);
    this.links.push(link);
    return this.#linkTo(link);
  };

  get link(): MemoryLink {
    const link = this.links.at(-1);
    if (link === undefined) throw new Error("nobody is connected");
    return link;
  }

  create(id: string, output: Uint8Array = new Uint8Array()): MemorySession {
    const session = { output, held: 0, exitCode: undefined, input: [] };
    this.sessions.set(id, session);
    return session;
  }

  /** Offers the output of the sessions to every open link. */
  feed(): void {
    for (const link of this.links) {
      if (!link.isOpen) continue;
      for (const id of link.cursors.keys()) this.#feed(link, id);
      this.#settle(link);
    }
  }

  send(type: number, sessionId: string, payload: Uint8Array): void {
    this.link.outgoing.push(encodeFrame(type, sessionId, payload));
    this.#settle(this.link);
  }

  #linkTo(link: MemoryLink): Link {
    return {
      send: (message) => {
        if (!link.isOpen) return;
        const frame = decodeFrame(message.slice());
        link.received.push(frame);
        if (link.isSilent) return;
        this.#handle(link, frame);
        this.#settle(link);
      },
      close: () => {
        link.isOpen = false;
      },
      bufferedBytes: 0,
    };
  }

  // As a socket does: never from within the call that caused it.
  #settle(link: MemoryLink): void {
    if (!this.isManual) queueMicrotask(() => link.deliver(link.outgoing.length));
  }

  #handle(link: MemoryLink, frame: Frame): void {
    if (frame.type === FrameType.PING) this.#pong(link, frame);
    else if (frame.type === FrameType.SUBSCRIBE) this.#subscribe(link, frame);
    else if (frame.type === FrameType.UNSUBSCRIBE) this.#unsubscribe(link, frame.sessionId);
    else if (frame.type === FrameType.INPUT_TEXT) this.#input(link, frame);
  }

  #unsubscribe(link: MemoryLink, sessionId: string): void {
    link.cursors.delete(sessionId);
    if (!this.isDropping) return;
    const kept = link.outgoing.filter((message) => decodeFrame(message).sessionId !== sessionId);
    link.outgoing.splice(0, link.outgoing.length, ...kept);
  }

  #pong(link: MemoryLink, frame: Frame): void {
    for (const error of this.errorsForCommands.splice(0)) this.#error(link, "a", error);
    link.outgoing.push(encodeFrame(FrameType.PONG, "", frame.payload));
  }

  #input(link: MemoryLink, { sessionId, payload }: Frame): void {
    const session = this.sessions.get(sessionId);
    if (session === undefined)
      this.#error(link, sessionId, new ServiceError("session_not_found", "no session"));
    else if (session.exitCode !== undefined) {
      this.#error(link, sessionId, new ServiceError("session_not_running", "it ended"));
    } else session.input.push(payload.slice());
  }

  #subscribe(link: MemoryLink, { sessionId, payload }: Frame): void {
    const { flags, from = 0 } = decodeSubscribe(payload);
    if (sessionId === "") {
      const connected = { type: "connected", timestamp: "2026-01-01T00:00:00.000Z" };
      link.outgoing.push(encodeFrame(FrameType.EVENT, "", encodeJson(connected)));
      return;
    }
    const session = this.sessions.get(sessionId);
    if (session === undefined) {
      this.#error(link, sessionId, new ServiceError("session_not_found", `no session ${sessionId}`));
      return;
    }
    const offset = from === "live" ? session.output.length : from;
    const status = session.exitCode === undefined ? "running" : "exited";
    const answer = { flags, offset, cols: 80, rows: 24, status };
    link.outgoing.push(encodeFrame(FrameType.SUBSCRIBED, sessionId, encodeJson(answer)));
    if ((flags & SubscribeFlag.Stdout) === 0) return;
    link.cursors.set(sessionId, { cursor: Math.max(0, offset - this.overlap) });
    this.#feed(link, sessionId);
  }

  #feed(link: MemoryLink, id: string): void {
    const session = this.sessions.get(id);
    let cursor = link.cursors.get(id)?.cursor;
    if (session === undefined || cursor === undefined) return;
    if (cursor < session.held) {
      cursor = session.held;
      const resync = { offset: cursor, size: { cols: 80, rows: 24 }, bytes: new Uint8Array([82]) };
      link.outgoing.push(encodeFrame(FrameType.RESYNC, id, encodeResync(resync)));
    }
    while (cursor < session.output.length) {
      const bytes = session.output.subarray(cursor, cursor + this.chunk);
      link.outgoing.push(encodeOutputFrame(id, cursor, bytes));
      cursor += bytes.length;
    }
    link.cursors.set(id, { cursor });
    if (session.exitCode === undefined) return;
    const exit = { kind: "exit", type: "session-exit", sessionId: id, exitCode: session.exitCode };
    link.outgoing.push(encodeFrame(FrameType.EVENT, id, encodeJson(exit)));
    link.cursors.delete(id);
  }

  #error(link: MemoryLink, sessionId: string, error: ServiceError): void {
    const body = { message: error.message, code: error.code };
    link.outgoing.push(encodeFrame(FrameType.ERROR, sessionId, encodeJson(body)));
  }
}
