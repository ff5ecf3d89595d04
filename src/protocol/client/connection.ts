import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { ServiceError } from "../errors.ts";
import { encodeFrame, FrameType, writeU32 } from "../frame/frame.ts";
import type { GoAway } from "../frame/payload.ts";
import {
  CLIENT_MAX_MISSED_PONGS,
  CLIENT_PING_INTERVAL_MS,
  CLIENT_PROBE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  RECONNECT_QUICK_MS,
  RECONNECT_TRY_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
  STABLE_LINK_MS,
} from "../limits.ts";
import type { Link, LinkClose, OpenLink } from "./link.ts";
import { asServiceError, closed, disconnected, isFinal, silent } from "./link.ts";
import { PlannedRestart } from "./planned-restart.ts";

export type ConnectionState =
  /** `isPlanned`, here and below: the server announced its restart, which takes no longer than usual. */
  | { readonly kind: "connecting"; readonly isPlanned?: boolean }
  | { readonly kind: "open" }
  /** `until`: time of the next attempt, in milliseconds since the epoch. `error`: the reason for the missing link. */
  | {
      readonly kind: "waiting";
      readonly until: number;
      readonly error: ServiceError;
      readonly isPlanned?: boolean;
    }
  /** For good; without `error` if it was closed on this side. */
  | { readonly kind: "closed"; readonly error?: ServiceError };

export type ConnectionOptions = {
  readonly open: OpenLink;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** 0 to 1, as Math.random. */
  readonly random?: () => number;
  readonly backoff?: BackoffTimes;
  readonly times?: ConnectionTimes;
};

/** They must not throw. */
export type ConnectionEvents = {
  /** A new link is open, before anything is sent on it. */
  readonly opened: () => void;
  readonly message: (message: Uint8Array) => void;
  /** The last chance to send on this link. If it returns true, the link is kept for the answer until `move`. */
  readonly leaving: () => boolean;
  /** The open link is lost. */
  readonly lost: (error: ServiceError) => void;
};

type Attempt = { readonly abort: AbortController; link: Link | undefined; openedAt: number };

/**
 * One link at a time, opened at once and again after each loss, until it is disposed of or the server refuses for good. A
 * link is lost when it closes, or when nothing arrives for two PINGs.
 */
export class Connection implements Disposable {
  readonly #open: OpenLink;
  readonly #now: () => number;
  readonly #times: ConnectionTimes;
  readonly #random: () => number;
  readonly #pauses: Pauses;
  readonly #events: ConnectionEvents;
  readonly #states = new Emitter<ConnectionState>();
  #state: ConnectionState = { kind: "connecting" };
  readonly #restart = new PlannedRestart({
    due: () => this.#leave(),
    over: () => this.#setState(this.#state),
  });
  #attempt: Attempt | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;
  #pings = 0;
  #unanswered = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#open = options.open;
    this.#now = options.now ?? Date.now;
    this.#times = options.times ?? CONNECTION_TIMES;
    this.#random = options.random ?? Math.random;
    this.#pauses = new Pauses({ ...options.backoff, random: this.#random });
    this.#events = events;
    this.#connect();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Called with every new state. */
  onState(listener: (state: ConnectionState) => void): Disposable {
    return this.#states.on(listener);
  }

  /** The open link, if any. */
  get link(): Link | undefined {
    return this.#state.kind === "open" ? this.#attempt?.link : undefined;
  }

  /** Number of the next PING on this link. */
  get nextPing(): number {
    return this.#pings;
  }

  /** See SessionSocket.opened. */
  async opened(timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let problem = new ServiceError("host_unreachable", `no connection within ${timeoutMs} ms`);
    const check = (state: ConnectionState): void => {
      if (state.kind === "waiting") problem = state.error;
      else if (state.kind === "open") resolve();
      else if (state.kind === "closed") reject(state.error ?? disconnected());
    };
    using _ = this.onState(check);
    check(this.#state);
    const deadline = setTimeout(() => reject(problem), timeoutMs);
    await promise.finally(() => clearTimeout(deadline));
  }

  ping(): void {
    const payload = new Uint8Array(4);
    writeU32(payload, 0, this.#pings);
    this.#pings = (this.#pings + 1) >>> 0;
    this.link?.send(encodeFrame(FrameType.PING, "", payload));
  }

  /** After sleep or a network change: connects at once, or checks that the open link still answers. */
  wake(): void {
    if (this.#state.kind === "waiting") this.#connect();
    if (this.#state.kind !== "open" || this.#probe !== undefined) return;
    this.ping();
    this.#awaitSign();
  }

  /** Drops the link or the attempt and connects again at once, unless it was closed for good. */
  reconnect(): void {
    this.#pauses.startOver();
    this.fail(disconnected());
    if (this.#state.kind === "waiting") this.#connect();
  }

  /** After GOAWAY: leaves the link after a random delay, and opens another. */
  moveLater({ afterMs, jitterMs }: Pick<GoAway, "afterMs" | "jitterMs">): void {
    if (this.#state.kind === "open") this.#restart.begin(afterMs + this.#random() * jitterMs);
  }

  /** All answers have arrived: drops the link that is being left, if any. */
  move(): void {
    const attempt = this.#attempt;
    if (attempt === undefined || !this.#isLeaving) return;
    this.#pauses.startOver();
    this.#drop(attempt);
    this.#events.lost(disconnected());
    this.#connect();
  }

  /** Drops the link, as after a loss, and opens another unless the error is final. */
  fail(error: ServiceError): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#drop(attempt);
    const wasOpen = attempt.link !== undefined;
    if (wasOpen && this.#now() - attempt.openedAt >= this.#times.stableMs) this.#pauses.startOver();
    if (isFinal(error)) {
      this.#restart.end();
      this.#setState({ kind: "closed", error });
    } else {
      this.#wait(error);
    }
    if (wasOpen) this.#events.lost(error);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#retry);
    this.#restart[Symbol.dispose]();
    const attempt = this.#attempt;
    if (attempt !== undefined) this.#drop(attempt);
    if (this.#state.kind === "closed") return;
    this.#setState({ kind: "closed" });
    if (attempt?.link !== undefined) this.#events.lost(disconnected());
  }

  #connect(): void {
    clearTimeout(this.#retry);
    const attempt: Attempt = { abort: new AbortController(), link: undefined, openedAt: 0 };
    this.#attempt = attempt;
    this.#setState({ kind: "connecting" });
    const isCurrent = (): boolean => this.#attempt === attempt;
    const fail = (error: unknown): void => void (isCurrent() && this.fail(asServiceError(error)));
    const longestMs = this.#restart.longestTryMs(this.#times);
    const deadline = setTimeout(() => void (isCurrent() && this.#late(longestMs)), longestMs);
    const handlers = {
      onMessage: (message: Uint8Array): void => void (isCurrent() && this.#received(message)),
      onClose: (reason: LinkClose): void => fail(closed(reason)),
    };
    this.#open(handlers, attempt.abort.signal)
      .then((link) => (isCurrent() ? this.#opened(attempt, link) : link.close()), fail)
      .finally(() => clearTimeout(deadline));
  }

  #late(ms: number): void {
    this.#restart.tryWasLate();
    this.fail(new ServiceError("host_unreachable", `no answer within ${ms} ms`));
  }

  #opened(attempt: Attempt, link: Link): void {
    attempt.link = link;
    attempt.openedAt = this.#now();
    this.#restart.end();
    this.#pings = 0;
    this.#unanswered = 0;
    this.#beat = setInterval(() => this.#keepAlive(), this.#times.pingMs);
    this.#setState({ kind: "open" });
    if (this.link === link) this.#events.opened();
  }

  // Any message proves that the link works: a PONG may be behind megabytes of output.
  #received(message: Uint8Array): void {
    this.#unanswered = 0;
    clearTimeout(this.#probe);
    this.#probe = undefined;
    if (this.#isLeaving) this.#awaitSign();
    this.#events.message(message);
  }

  #keepAlive(): void {
    if (this.#unanswered >= CLIENT_MAX_MISSED_PONGS) {
      this.fail(silent());
    } else {
      this.#unanswered += 1;
      this.ping();
    }
  }

  #wait(error: ServiceError): void {
    const delay = this.#pauses.next(this.#restart.longestPauseMs);
    this.#retry = setTimeout(() => this.#connect(), delay);
    this.#setState({ kind: "waiting", until: this.#now() + delay, error });
  }

  /** Stops sending, but still receives, and waits a limited time for answers. */
  #leave(): void {
    if (this.#state.kind !== "open") return;
    const isAnswerDue = this.#events.leaving();
    this.#setState({ kind: "connecting" });
    if (isAnswerDue) this.#awaitSign();
    else this.move();
  }

  /** The link is being left and waits for its answers. */
  get #isLeaving(): boolean {
    return this.#state.kind === "connecting" && this.#attempt?.link !== undefined;
  }

  #awaitSign(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => this.fail(silent()), this.#times.probeMs);
  }

  #drop(attempt: Attempt): void {
    this.#attempt = undefined;
    clearInterval(this.#beat);
    clearTimeout(this.#probe);
    this.#probe = undefined;
    if (attempt.link === undefined) attempt.abort.abort();
    else attempt.link.close();
  }

  #withPlan(state: Exclude<ConnectionState, { kind: "open" | "closed" }>): ConnectionState {
    const { isPlanned: _, ...rest } = state;
    return this.#restart.isOn ? { ...rest, isPlanned: true } : rest;
  }

  #setState(state: ConnectionState): void {
    this.#state = state.kind === "open" || state.kind === "closed" ? state : this.#withPlan(state);
    this.#states.emit(this.#state);
  }
}

/** In milliseconds. */
export type ConnectionTimes = {
  readonly connectMs: number;
  /** In place of `connectMs` for the first attempt during an announced restart. */
  readonly tryMs: number;
  readonly pingMs: number;
  readonly probeMs: number;
  readonly stableMs: number;
};

export const CONNECTION_TIMES: ConnectionTimes = {
  connectMs: CONNECT_TIMEOUT_MS,
  tryMs: RECONNECT_TRY_MS,
  pingMs: CLIENT_PING_INTERVAL_MS,
  probeMs: CLIENT_PROBE_TIMEOUT_MS,
  stableMs: STABLE_LINK_MS,
};

export type BackoffTimes = {
  /** Before the first retry after a stable link: most cuts are short. */
  readonly quickMs: number;
  /** Before the second retry; doubled for each further one, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
};

/** Pauses between attempts to connect. */
export class Pauses {
  readonly #backoff: Backoff;
  readonly #quickMs: number;
  readonly #random: () => number;
  /** The next attempt is the first after a stable link, or the first of all. */
  #isQuick = true;

  constructor(options: Partial<BackoffTimes> & { readonly random: () => number }) {
    const { quickMs = RECONNECT_QUICK_MS, firstMs = RETRY_FIRST_MS, maxMs = RETRY_MAX_MS, random } = options;
    this.#quickMs = quickMs;
    this.#random = random;
    this.#backoff = new Backoff({ firstMs, maxMs, random });
  }

  /** In ms. `longestMs`: the limit while the server is expected back. */
  next(longestMs?: number): number {
    const ms = this.#isQuick ? this.#quickMs : longestMs;
    if (ms === undefined) return this.#backoff.next();
    this.#isQuick = false;
    return ms * (1 - this.#random() / 2);
  }

  /** After a stable link. */
  startOver(): void {
    this.#isQuick = true;
    this.#backoff.reset();
  }
}
