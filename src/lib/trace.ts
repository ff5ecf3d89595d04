// Connects everything that a request causes: log lines here and in the processes to which it is passed on.
import { AsyncLocalStorage } from "node:async_hooks";
import { scrub } from "./redact.ts";

export type Trace = {
  readonly requestId: string;
  /** Passed on if the request has one; never created here, because nobody would record its start. */
  readonly context?: TraceContext | undefined;
};

/** W3C Trace Context, level 1. */
type TraceContext = {
  readonly traceId: string;
  readonly flags: string;
  /** `tracestate`, unchanged. */
  readonly state: string | undefined;
};

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const REQUEST_ID = /^[A-Za-z0-9._:+/=@-]{1,128}$/;
/** Versions after 00 may have more fields at the end. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_LENGTH = 256;
/** The length that everyone must pass on (W3C Trace Context, 3.3.1.5); longer ones are dropped. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const PARENT_ID_BYTES = 8;

/** Loaded by the first request with a trace: a short command has none. */
const crypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");

/** Ambient, because requests pass through SessionBackend, which does not know them. Only log lines and headers use it. */
const storage = new AsyncLocalStorage<Trace | undefined>();

export function currentTrace(): Trace | undefined {
  return storage.getStore();
}

/** Everything that `work` starts belongs to that request. */
export function inTrace<T>(trace: Trace | undefined, work: () => T): T {
  return storage.run(trace, work);
}

/** Binds `work` to the current request. */
export function inThisTrace<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  return AsyncLocalStorage.bind(work);
}

/** For work that outlives the request: a program, a shared connection, a watch. */
export function outsideTraces<T>(work: () => T): T {
  return storage.run(undefined, work);
}

/** For work without a request that other processes should log with the same id. */
export function newTrace(): Trace {
  return { requestId: crypto().randomUUID() };
}

/** An id that is missing or not a short plain word is replaced. */
export function traceOf(headers: Headers): Trace {
  const { "x-request-id": id, traceparent, tracestate } = headers;
  const isPlain = typeof id === "string" && REQUEST_ID.test(id) && scrub(id) === id;
  const requestId = isPlain ? id : crypto().randomUUID();
  return { requestId, context: contextOf(traceparent, tracestate) };
}

/** Headers for the next process: the same id, and this process as the parent. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { requestId, context } = trace;
  if (context === undefined) return { "x-request-id": requestId };
  const { traceId, flags, state } = context;
  const parentId = crypto().randomBytes(PARENT_ID_BYTES).toString("hex");
  return {
    ...{ "x-request-id": requestId, traceparent: `00-${traceId}-${parentId}-${flags}` },
    ...(state === undefined ? {} : { tracestate: state }),
  };
}

/** Fields for log lines; a new object each time. */
export function traceFields(): Record<string, string> {
  const trace = currentTrace();
  if (trace === undefined) return {};
  const { requestId, context } = trace;
  return context === undefined ? { requestId } : { requestId, traceId: context.traceId };
}

/** `undefined` if missing or malformed; the state counts only with a valid context. */
function contextOf(parent: Headers[string], state: Headers[string]): TraceContext | undefined {
  if (typeof parent !== "string" || parent.length > MAX_TRACEPARENT_LENGTH) return undefined;
  const [, version, traceId, flags, more] = TRACEPARENT.exec(parent) ?? [];
  if (traceId === undefined || flags === undefined || (version === "00" && more !== undefined))
    return undefined;
  const isPassedOn = typeof state === "string" && TRACESTATE.test(state);
  // Version 00 defines only the first bit.
  const known = (Number.parseInt(flags, 16) & 1) === 1 ? "01" : "00";
  return { traceId, flags: known, state: isPassedOn ? state : undefined };
}
