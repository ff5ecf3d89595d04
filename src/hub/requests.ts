// The requests of one client, performed and answered strictly in order (contract 1.10).
import { constants } from "node:os";
import { ServiceError } from "../protocol/errors.ts";
import { type Frame, FrameType } from "../protocol/frame/frame.ts";
import { decodeSize, decodeText, type FailedRequest } from "../protocol/frame/payload.ts";
import { keyBytes } from "../protocol/keys.ts";
import { MAX_MESSAGE_BYTES, MAX_OPEN_REQUESTS } from "../protocol/limits.ts";
import { SESSION_ID, SignalName } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { Peer } from "./outbox.ts";

/** Acts on a session; answered only if it fails. `action`: for the audit log. */
type Command = {
  readonly perform: (backend: SessionBackend) => Promise<void>;
  readonly action?: ClientAction;
};

const COMMANDS = ["INPUT_TEXT", "INPUT_KEY", "RESIZE", "KILL", "RESET_SIZE"] as const;

/** The name of a command's frame type; `undefined` for other types. */
function commandName(type: number): (typeof COMMANDS)[number] | undefined {
  return COMMANDS.find((name) => FrameType[name] === type);
}

/** The kind of request that an ERROR names if a frame of that type fails. */
export function failedRequest(type: number): FailedRequest | undefined {
  if (type === FrameType.SUBSCRIBE) return "subscribe";
  return commandName(type) && "command";
}

/** Throws `unknown_type` or `invalid_request`. */
export function readCommand({ type, sessionId, payload }: Frame): Command {
  const name = commandName(type);
  if (name !== undefined && sessionId === "")
    throw new ServiceError("invalid_request", `Missing sessionId for ${name}`);
  switch (name) {
    case undefined:
      throw new ServiceError("unknown_type", `unknown frame type ${type}`);
    case "INPUT_TEXT":
      return input(sessionId, payload);
    case "INPUT_KEY":
      return input(sessionId, inputKey(decodeText(payload)));
    case "RESIZE": {
      const size = decodeSize(payload);
      return { perform: (backend) => backend.resize(sessionId, size) };
    }
    case "KILL": {
      const signal = signalName(decodeText(payload));
      const action = { kind: "signal", sessionId, signal } as const;
      return { perform: (backend) => backend.kill(sessionId, signal), action };
    }
    case "RESET_SIZE":
      return { perform: (backend) => refuseResetSize(backend, sessionId) };
  }
}

function input(sessionId: string, bytes: Uint8Array): Command {
  const action = { kind: "type", sessionId } as const;
  return { perform: (backend) => backend.write(sessionId, bytes), action };
}

/** `handle` returns a promise that the next message waits for, if any; it must not reject. */
type Message = { readonly bytes: number; readonly handle: () => Promise<void> | undefined };

/**
 * Handles a client's messages one after another, and sends the answers in the order of the requests, although the backend
 * settles them in any order. So a PONG confirms everything before its PING. At most MAX_OPEN_REQUESTS or MAX_MESSAGE_BYTES
 * wait, plus the messages that had arrived when reading stopped. The client is not read while so many wait, or while it
 * leaves its answers unread.
 */
export class ClientRequests {
  readonly #peer: Pick<Peer, "pause" | "resume">;
  readonly #waiting: Message[] = [];
  #waitingBytes = 0;
  #isBusy = false;
  #isCrowded = false;
  #isPaused = false;
  #lastAnswer: Promise<void> = Promise.resolve();
  #openAnswers = 0;

  constructor(peer: Pick<Peer, "pause" | "resume">) {
    this.#peer = peer;
  }

  receive(message: Message): void {
    this.#waiting.push(message);
    this.#waitingBytes += message.bytes;
    if (!this.#isBusy) void this.#work();
    this.#regulate();
  }

  /** `isCrowded`: the client leaves its answers unread. */
  crowded(isCrowded: boolean): void {
    this.#isCrowded = isCrowded;
    this.#regulate();
  }

  /** Waiting messages are not handled any more. */
  close(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  /** Calls `failed` after everything before it if `work` fails. */
  follow(work: Promise<void>, failed: (error: unknown) => void): void {
    // Handled at once, because a request may fail long before its turn.
    const outcome = work.then(
      () => undefined,
      (error: unknown) => () => failed(error),
    );
    this.#queue(outcome);
  }

  /** Calls `tell` after everything before it. */
  answer(tell: () => void): void {
    if (this.#openAnswers === 0) {
      tell();
      return;
    }
    this.#queue(Promise.resolve(tell));
  }

  #queue(answer: Promise<(() => void) | undefined>): void {
    this.#openAnswers += 1;
    this.#lastAnswer = this.#lastAnswer
      .then(() => answer)
      .then((tell) => {
        this.#openAnswers -= 1;
        tell?.();
      });
  }

  /** Synchronous as long as no message has to wait. */
  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#waitingBytes -= next.bytes;
      const done = next.handle();
      if (done !== undefined) await done;
      else if (this.#openAnswers >= MAX_OPEN_REQUESTS) await this.#lastAnswer;
    }
    this.#isBusy = false;
    this.#regulate();
  }

  #regulate(): void {
    const hasMany = this.#waiting.length >= MAX_OPEN_REQUESTS || this.#waitingBytes > MAX_MESSAGE_BYTES;
    const isFull = this.#isCrowded || hasMany;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#peer.pause();
    else this.#peer.resume();
  }
}

/** The bytes of a named key. Throws ServiceError `invalid_request` for an unknown name. */
export function inputKey(name: string): Uint8Array {
  const bytes = keyBytes(name);
  if (bytes === undefined)
    throw new ServiceError("invalid_request", `Unknown special key: ${name.slice(0, 64)}`);
  return bytes;
}

/** Throws `session_not_found` for an invalid session id. */
export function checkSessionId(sessionId: string): void {
  if (!SESSION_ID.test(sessionId)) throw new ServiceError("session_not_found", `no session ${sessionId}`);
}

/**
 * Sessions have no native terminal whose size could be restored, so this always throws: `session_not_found`,
 * `session_not_running`, or `invalid_request` for a running session.
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

/** A name, or a number on this machine; SIGTERM if empty (facts 1.3, 1.11). */
function signalName(text: string): SignalName {
  const name = text === "" ? "SIGTERM" : text;
  const byNumber = Object.entries(constants.signals).find(([, number]) => `${number}` === name)?.[0];
  const parsed = SignalName.safeParse(byNumber ?? name);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_request", `unknown signal ${name.slice(0, 64)}`);
}

/** An action of a client that the audit log records. */
type ClientAction =
  | { readonly kind: "subscribe" | "type"; readonly sessionId: string }
  | { readonly kind: "signal"; readonly sessionId: string; readonly signal: SignalName };

/** Receives each action of a client; `error` is set if it failed. Must not throw. */
export type AuditHook = (action: ClientAction, error?: unknown) => void;

const TYPING_MS = 30_000;
/** Sessions remembered for one client. Over that, all are reported anew. */
const MAX_TYPED_INTO = 2_000;

/**
 * Reports a client's actions when their outcome is known; typing at most every 30 s for each session. `now` in milliseconds,
 * monotonic.
 */
export function throttledAuditHook(
  auditHook: AuditHook,
  now: () => number,
): (action: ClientAction, work: Promise<unknown>) => void {
  /** Time of the last report of typing, by session. */
  const typedAtMs = new Map<string, number>();
  return (action, work) => {
    const { kind, sessionId } = action;
    const nowMs = now();
    if (kind === "type" && nowMs - (typedAtMs.get(sessionId) ?? Number.NEGATIVE_INFINITY) < TYPING_MS) return;
    const done = (error?: unknown): void => {
      if (typedAtMs.size >= MAX_TYPED_INTO) typedAtMs.clear();
      if (kind === "type" && error === undefined) typedAtMs.set(sessionId, nowMs);
      auditHook(action, error);
    };
    void work.then(() => done(), done);
  };
}
