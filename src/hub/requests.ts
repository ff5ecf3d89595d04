// The requests of one client: read from its frames, performed and answered strictly in order (contract 1.10).
import { ServiceError } from "../protocol/errors.ts";
import { type Frame, FrameType } from "../protocol/frame/frame.ts";
import {
  decodeHello,
  decodeSize,
  decodeSubscribe,
  decodeText,
  type Hello,
  type Subscribe,
} from "../protocol/frame/payload.ts";
import { keyBytes } from "../protocol/keys.ts";
import { MAX_OPEN_REQUESTS } from "../protocol/limits.ts";
import { SessionId, SIGNALS, SignalName, TerminalSize } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { Peer } from "./outbox.ts";

/** What a client's frame asks for. Bytes are copies: a request may outlive the message that it came in. */
export type Request =
  | { readonly kind: "hello"; readonly hello: Hello }
  | { readonly kind: "ping"; readonly payload: Uint8Array }
  | { readonly kind: "subscribe"; readonly subscribe: Subscribe }
  | { readonly kind: "unsubscribe" }
  | { readonly kind: "input"; readonly bytes: Uint8Array }
  | { readonly kind: "resize"; readonly size: TerminalSize }
  | { readonly kind: "kill"; readonly signal: SignalName }
  | { readonly kind: "reset-size" };

/** What is done to a session, and answered only when it fails. */
export type Command = Extract<Request, { kind: "input" | "resize" | "kill" | "reset-size" }>;

const NEEDS_SESSION: ReadonlyMap<number, string> = new Map([
  [FrameType.INPUT_TEXT, "INPUT_TEXT"],
  [FrameType.INPUT_KEY, "INPUT_KEY"],
  [FrameType.RESIZE, "RESIZE"],
  [FrameType.KILL, "KILL"],
  [FrameType.RESET_SIZE, "RESET_SIZE"],
]);

/** Throws ServiceError `unknown_type`, `invalid_request` or PayloadError. */
export function readRequest(frame: Frame): Request {
  const needs = NEEDS_SESSION.get(frame.type);
  if (needs !== undefined && frame.sessionId === "") {
    throw new ServiceError("invalid_request", `Missing sessionId for ${needs}`);
  }
  switch (frame.type) {
    case FrameType.HELLO:
      return { kind: "hello", hello: decodeHello(frame.payload) };
    case FrameType.PING:
      return { kind: "ping", payload: frame.payload.slice() };
    case FrameType.SUBSCRIBE:
      return { kind: "subscribe", subscribe: decodeSubscribe(frame.payload) };
    case FrameType.UNSUBSCRIBE:
      return { kind: "unsubscribe" };
    case FrameType.INPUT_TEXT:
      return { kind: "input", bytes: frame.payload.slice() };
    case FrameType.INPUT_KEY:
      return { kind: "input", bytes: inputKey(decodeText(frame.payload)) };
    case FrameType.RESIZE:
      return { kind: "resize", size: checkSize(decodeSize(frame.payload)) };
    case FrameType.KILL:
      return { kind: "kill", signal: signalName(decodeText(frame.payload)) };
    case FrameType.RESET_SIZE:
      return { kind: "reset-size" };
    default:
      throw new ServiceError("unknown_type", `frames of type ${frame.type} mean nothing here`);
  }
}

/** Performs a command and reports it to the audit hook. `refused`: the client may not; it is reported as well. */
export function perform(
  request: Command,
  sessionId: string,
  { backend, watch }: { readonly backend: SessionBackend; readonly watch?: ThrottledAuditHook | undefined },
  refused: Promise<never> | undefined,
): Promise<void> {
  if (request.kind === "resize") return refused ?? backend.resize(sessionId, request.size);
  if (request.kind === "reset-size") return refused ?? refuseResetSize(backend, sessionId);
  if (request.kind === "kill") {
    const killed = refused ?? backend.kill(sessionId, request.signal);
    watch?.signalling(sessionId, request.signal, killed);
    return killed;
  }
  const written = refused ?? backend.write(sessionId, request.bytes);
  watch?.typing(sessionId, written);
  return written;
}

/**
 * Hands over a client's frames one after the other, and its answers in the order of the requests, in whatever order the
 * backend settles them. A PONG thus says that everything before its PING was dealt with: that is how a gateway learns
 * the outcome of input. At most MAX_OPEN_REQUESTS wait, and the frames that had arrived when reading stopped. While so
 * many wait, or its answers are left unread, the client is not read.
 */
export class ClientRequests {
  readonly #peer: Pick<Peer, "pause" | "resume">;
  readonly #handle: (frame: Frame) => Promise<void> | undefined;
  readonly #waiting: Frame[] = [];
  #isBusy = false;
  #isCrowded = false;
  #isPaused = false;
  #isClosed = false;
  #lastAnswer: Promise<void> = Promise.resolve();
  #openAnswers = 0;

  /** `handle` returns what the next frame has to wait for, if anything; it must not reject. */
  constructor(options: {
    peer: Pick<Peer, "pause" | "resume">;
    handle: (frame: Frame) => Promise<void> | undefined;
  }) {
    this.#peer = options.peer;
    this.#handle = options.handle;
  }

  receive(frame: Frame): void {
    if (this.#isClosed) return;
    // The message that the frame views need not outlive this call.
    if (this.#isBusy) this.#waiting.push({ ...frame, payload: frame.payload.slice() });
    else this.#begin(frame);
    this.#regulate();
  }

  /** Whether the client leaves its answers unread. */
  crowded(isCrowded: boolean): void {
    this.#isCrowded = isCrowded;
    this.#regulate();
  }

  /** Nothing is handled any more. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  /** `refused` is called in its turn when `work` failed. */
  follow(work: Promise<void>, refused: (error: unknown) => void): void {
    // Listened to at once: a request may fail long before its turn.
    const outcome = work.then(
      () => undefined,
      (error: unknown) => () => refused(error),
    );
    this.#openAnswers += 1;
    this.#lastAnswer = this.#lastAnswer
      .then(() => outcome)
      .then((tell) => {
        this.#openAnswers -= 1;
        tell?.();
      });
  }

  /** Calls `tell` after everything before it. */
  answer(tell: () => void): void {
    if (this.#openAnswers === 0) {
      tell();
      return;
    }
    this.#openAnswers += 1;
    this.#lastAnswer = this.#lastAnswer.then(() => {
      this.#openAnswers -= 1;
      tell();
    });
  }

  #begin(frame: Frame): void {
    const isFull = (): boolean => this.#openAnswers >= MAX_OPEN_REQUESTS;
    const done = this.#handle(frame) ?? (isFull() ? this.#lastAnswer : undefined);
    if (done === undefined) return;
    this.#isBusy = true;
    void done.then(() => this.#goOn());
  }

  #goOn(): void {
    this.#isBusy = false;
    while (!this.#isBusy && !this.#isClosed) {
      const frame = this.#waiting.shift();
      if (frame === undefined) break;
      this.#begin(frame);
    }
    this.#regulate();
  }

  #regulate(): void {
    const isFull = this.#isCrowded || this.#waiting.length >= MAX_OPEN_REQUESTS;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#peer.pause();
    else this.#peer.resume();
  }
}

/** The bytes of a named key. Throws ServiceError `invalid_request` for a name that is none of the 28. */
export function inputKey(name: string): Uint8Array {
  const bytes = keyBytes(name);
  if (bytes === undefined)
    throw new ServiceError("invalid_request", `Unknown special key: ${name.slice(0, 64)}`);
  return bytes;
}

/** Throws `session_not_found` for text that is no session id. */
export function checkSessionId(sessionId: string): void {
  if (!SessionId.safeParse(sessionId).success)
    throw new ServiceError("session_not_found", `no session ${sessionId}`);
}

/**
 * A session has no terminal of its own whose size it could take back: always throws, `session_not_found` for one that is
 * unknown, `session_not_running` for one that has ended, else `invalid_request`.
 */
export async function refuseResetSize(
  backend: Pick<SessionBackend, "get">,
  sessionId: string,
): Promise<never> {
  const { status } = await backend.get(sessionId);
  if (status === "exited") throw new ServiceError("session_not_running", `session ${sessionId} has ended`);
  throw new ServiceError(
    "invalid_request",
    "the session has no terminal of its own whose size it could take back: resize it",
  );
}

function checkSize(size: TerminalSize): TerminalSize {
  const parsed = TerminalSize.safeParse(size);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_request", "cols and rows must be between 1 and 1000");
}

/** A name, a number, or nothing for SIGTERM (facts 1.3, 1.11). */
function signalName(text: string): SignalName {
  const name = text === "" ? "SIGTERM" : text;
  const byNumber = Object.entries(SIGNALS).find(([, number]) => `${number}` === name)?.[0];
  const parsed = SignalName.safeParse(byNumber ?? name);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_request", `unknown signal ${name.slice(0, 64)}`);
}

/** Receives each action of a client on sessions; `error` is set when the action failed. Must not throw. */
export type AuditHook = {
  subscribed(sessionId: string, error?: unknown): void;
  /** Called again every 30 s while typing goes on. */
  typed(sessionId: string, error?: unknown): void;
  signalled(sessionId: string, signal: SignalName, error?: unknown): void;
};

const TYPING_MS = 30_000;
/** Sessions remembered for one client. Over that, all are reported anew. */
const MAX_TYPED_INTO = 2_000;

/** Calls the hook of one client when the outcome of an action is known; typing at most every 30 s for each session. */
export class ThrottledAuditHook {
  readonly #hook: AuditHook;
  readonly #now: () => number;
  /** When typing was last reported, by session. */
  readonly #typedAtMs = new Map<string, number>();

  /** `now` in milliseconds, never going back. */
  constructor(auditHook: AuditHook, now: () => number) {
    this.#hook = auditHook;
    this.#now = now;
  }

  subscribing(sessionId: string, work: Promise<unknown>): void {
    report(work, (error) => this.#hook.subscribed(sessionId, error));
  }

  typing(sessionId: string, work: Promise<unknown>): void {
    const now = this.#now();
    if (now - (this.#typedAtMs.get(sessionId) ?? Number.NEGATIVE_INFINITY) < TYPING_MS) return;
    report(work, (error) => {
      if (this.#typedAtMs.size >= MAX_TYPED_INTO) this.#typedAtMs.clear();
      if (error === undefined) this.#typedAtMs.set(sessionId, now);
      this.#hook.typed(sessionId, error);
    });
  }

  signalling(sessionId: string, signal: SignalName, work: Promise<unknown>): void {
    report(work, (error) => this.#hook.signalled(sessionId, signal, error));
  }
}

function report(work: Promise<unknown>, tell: (error?: unknown) => void): void {
  void work.then(() => tell(), tell);
}
