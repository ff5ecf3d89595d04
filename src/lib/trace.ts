// What ties together what a request causes: its log lines here, and those in every process that it is passed on to.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes, randomUUID } from "node:crypto";
import { scrub } from "./redact.ts";

export type Trace = {
  readonly requestId: string;
  /** Where it came with one: passed on, never begun here, because nobody would keep its beginning. */
  readonly context?: TraceContext;
};

/** W3C Trace Context, level 1. */
type TraceContext = {
  /** 32 hexadecimal digits, not all of them 0. */
  readonly traceId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
  /** `tracestate`, as it came. */
  readonly state?: string;
};

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const REQUEST_ID = /^[A-Za-z0-9._:+/=@-]{1,128}$/;
/** A later version than 00 may have more fields; what it says otherwise stays the same. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_LENGTH = 256;
/** What everybody has to pass on (W3C Trace Context, 3.3.1.5); of a longer one nothing is. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const PARENT_ID_BYTES = 8;

/**
 * Ambient, because a request passes through the one interface of all sessions, of which most implementations know no
 * requests. Nothing but log lines and headers is made of it.
 */
const storage = new AsyncLocalStorage<Trace | undefined>();

/** Of the request that is being worked on, if there is one. */
export function currentTrace(): Trace | undefined {
  return storage.getStore();
}

/** Everything that `work` begins belongs to that request. */
export function inTrace<T>(trace: Trace | undefined, work: () => T): T {
  return storage.run(trace, work);
}

/** `work` as a function that always belongs to the request of this moment. */
export function inThisTrace<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  return AsyncLocalStorage.bind(work);
}

/** For what outlives the request that begins it: a program, a connection that many share, a watch. */
export function outsideTraces<T>(work: () => T): T {
  return storage.run(undefined, work);
}

/** For what a process does of its own accord, and others are to know by the same id. */
export function newTrace(): Trace {
  return { requestId: randomUUID() };
}

/** What a request says of itself. An id that is missing, or anything but a short plain word, is replaced. */
export function traceOf(headers: Headers): Trace {
  const { "x-request-id": id, traceparent, tracestate } = headers;
  const isPlain = typeof id === "string" && REQUEST_ID.test(id) && scrub(id) === id;
  const requestId = isPlain ? id : randomUUID();
  const context = contextOf(traceparent, tracestate);
  return context === undefined ? { requestId } : { requestId, context };
}

/** What the next process is told: the same id, and this process as the parent. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { requestId, context } = trace;
  if (context === undefined) return { "x-request-id": requestId };
  const { traceId, flags, state } = context;
  const parentId = randomBytes(PARENT_ID_BYTES).toString("hex");
  return {
    ...{ "x-request-id": requestId, traceparent: `00-${traceId}-${parentId}-${flags}` },
    ...(state === undefined ? {} : { tracestate: state }),
  };
}

/** What log lines say of the request that is being worked on. Another object each time. */
export function traceFields(): Record<string, string> {
  const trace = currentTrace();
  if (trace === undefined) return {};
  const { requestId, context } = trace;
  return context === undefined ? { requestId } : { requestId, traceId: context.traceId };
}

/** `undefined` for what is missing or malformed; the state counts only beside a context that is not. */
function contextOf(parent: Headers[string], state: Headers[string]): TraceContext | undefined {
  if (typeof parent !== "string" || parent.length > MAX_TRACEPARENT_LENGTH) return undefined;
  const [, version, traceId, flags, more] = TRACEPARENT.exec(parent) ?? [];
  if (traceId === undefined || flags === undefined || (version === "00" && more !== undefined))
    return undefined;
  const isPassedOn = typeof state === "string" && TRACESTATE.test(state);
  // Of the flags only the first bit has a meaning in version 00.
  const known = (Number.parseInt(flags, 16) & 1) === 1 ? "01" : "00";
  return { traceId, flags: known, ...(isPassedOn ? { state } : {}) };
}
