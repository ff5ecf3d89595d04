import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { hedged } from "../../lib/async/hedged.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { ServiceError } from "../errors.ts";
import { encodeFrame, FrameType, writeU32 } from "../frame/frame.ts";
import type { GoAway } from "../frame/payload.ts";
import {
  AWAITED_RESTART_MS,
  CLIENT_MAX_MISSED_PONGS,
  CLIENT_PING_INTERVAL_MS,
  CLIENT_PROBE_TIMEOUT_MS,
  CONNECT_HEDGE_MS,
  CONNECT_TIMEOUT_MS,
  PLANNED_RESTART_MS,
  RECONNECT_AWAITED_MS,
  RECONNECT_PLANNED_MS,
  RECONNECT_QUICK_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
  STABLE_LINK_MS,
} from "../limits.ts";
import type { Link, LinkClose, OpenLink } from "./link.ts";
import { asServiceError, disconnected, isFinal } from "./link.ts";

/** `until`: time of the next attempt, in milliseconds since the epoch. `error`: the reason for the missing link. */
type Waiting = { readonly kind: "waiting"; readonly until: number; readonly error: ServiceError };
/** For good; without `error` if it was closed on this side. */
type Closed = { readonly kind: "closed"; readonly error?: ServiceError };

export type ConnectionState =
  | { readonly kind: "open" }
  | Closed
  /** `isPlanned`: the server announced its restart, which takes no longer than usual. */
  | ((Waiting | { readonly kind: "connecting" }) & { readonly isPlanned?: boolean });

/** In milliseconds. */
const TIMES = {
  /** Time without an answer after which the link is attempted once more beside it. */
  hedgeMs: CONNECT_HEDGE_MS,
  connectMs: CONNECT_TIMEOUT_MS,
  pingMs: CLIENT_PING_INTERVAL_MS,
  probeMs: CLIENT_PROBE_TIMEOUT_MS,
  stableMs: STABLE_LINK_MS,
  /** Before the first retry after a stable link: most cuts are short. */
  quickMs: RECONNECT_QUICK_MS,
  /** Before the second retry; doubled for each further one, up to `maxMs`. */
  firstMs: RETRY_FIRST_MS,
  maxMs: RETRY_MAX_MS,
};

export type ConnectionOptions = {
  readonly open: OpenLink;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** 0 to 1, as Math.random. */
  readonly random?: () => number;
  readonly times?: Partial<typeof TIMES>;
};

/** They must not throw. */
type ConnectionEvents = {
  /** A new link is open, before anything is sent on it. */
  readonly opened: () => void;
  readonly message: (message: Uint8Array) => void;
  /** The last chance to send on this link, which is kept until the promise resolves. */
  readonly leaving: () => Promise<void>;
  /** The open link is lost. */
  readonly lost: (error: ServiceError) => void;
};

/**
 * `attempt` identifies a link while it is opened and afterwards; its abort ends the attempt or closes the link. A link in
 * `leaving` only receives. `next` succeeds a link that is to be left.
 */
type Phase =
  | { readonly kind: "connecting"; readonly attempt: AbortController; readonly next?: undefined }
  | {
      readonly kind: "open" | "leaving";
      readonly attempt: AbortController;
      readonly next?: AbortController | undefined;
      readonly link: Link;
      readonly openedAt: number;
    }
  | Waiting
  | Closed;

type Timer = ReturnType<typeof setTimeout>;

/**
 * One link at a time, opened at once and again after each loss, until it is disposed of or the server refuses for good. A
 * link is lost when it closes, or when nothing arrives for two PINGs. Before an announced restart the next link is opened
 * beside the one that is left.
 */
export class Connection implements Disposable {
  readonly #options: Required<Omit<ConnectionOptions, "times">>;
  readonly #times: typeof TIMES;
  readonly #events: ConnectionEvents;
  readonly #backoff: Backoff;
  readonly #states = new Emitter<ConnectionState>();
  #phase: Phase = { kind: "closed" };
  /** Timers of the current phase. */
  #timers: Timer[] = [];
  /** Limits the wait for any message. */
  #probe: Timer | undefined;
  /** A restart that the server announced by GOAWAY is planned while this timer runs, and awaited longer. */
  #planned: Timer | undefined;
  #awaitedUntil: number | undefined;
  /** The next attempt is the first after a stable link, or the first of all. */
  #isQuick = true;
  /** Why there is no link, once the server was silent or an attempt has failed. A link that was closed may be back at once. */
  #failure: ServiceError | undefined;
  #pings = 0;
  /** Messages on the current link. */
  #sent = 0;
  #unanswered = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#times = { ...TIMES, ...options.times };
    this.#options = { now: Date.now, random: Math.random, ...options };
    this.#backoff = new Backoff({ ...this.#times, random: this.#options.random });
    this.#events = events;
    this.#connect();
  }

  get state(): ConnectionState {
    const phase = this.#phase;
    if (phase.kind === "closed") return phase;
    if (phase.kind === "open") return { kind: "open" };
    const planned = this.#planned === undefined ? {} : { isPlanned: true };
    return phase.kind === "waiting" ? { ...phase, ...planned } : { kind: "connecting", ...planned };
  }

  onState(listener: (state: ConnectionState) => void): Disposable {
    return this.#states.on(listener);
  }

  get link(): Pick<Link, "bufferedBytes"> | undefined {
    return this.#openLink;
  }

  get nextPing(): number {
    return this.#pings;
  }

  async opened(timeoutMs: number, { isPatient = true } = {}): Promise<void> {
    // The error with its stack costs more than all else here.
    if (this.state.kind === "open") return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let problem = new ServiceError("host_unreachable", `no connection within ${timeoutMs} ms`);
    const check = (state: ConnectionState): void => {
      if (state.kind === "waiting") problem = state.error;
      if (state.kind === "open") resolve();
      else if (state.kind === "closed") reject(state.error ?? disconnected());
      else if (!isPatient && state.isPlanned !== true && this.#failure !== undefined) reject(this.#failure);
    };
    using _ = this.onState(check);
    check(this.state);
    const deadline = setTimeout(() => reject(problem), timeoutMs);
    await promise.finally(() => clearTimeout(deadline));
  }

  /** Returns the number of the message on its link, from 1, which ERROR names. Without an open link nothing is sent. */
  send(message: Uint8Array): number | undefined {
    const link = this.#openLink;
    if (link === undefined) return undefined;
    link.send(message);
    this.#sent += 1;
    return this.#sent;
  }

  ping(): void {
    const payload = new Uint8Array(4);
    writeU32(payload, 0, this.#pings);
    this.#pings = (this.#pings + 1) >>> 0;
    this.send(encodeFrame(FrameType.PING, "", payload));
  }

  /** After sleep or a network change: connects at once, or checks that the open link still answers. */
  wake(): void {
    if (this.#phase.kind === "waiting") {
      this.#connect();
    } else if (this.#phase.kind === "open" && this.#probe === undefined) {
      this.ping();
      this.#awaitMessage();
    }
  }

  /** Drops the link or the attempt and connects again at once, unless it was closed for good. */
  reconnect(): void {
    this.#failure = undefined;
    this.#startOver();
    this.fail(disconnected());
    if (this.#phase.kind !== "closed") this.#connect();
  }

  /**
   * After GOAWAY: opens another link after a random delay, and leaves this one for it, or without it if nothing else answers.
   * The first announcement counts.
   */
  moveLater({ afterMs, jitterMs }: Pick<GoAway, "afterMs" | "jitterMs">): void {
    if (this.#phase.kind !== "open" || this.#awaitedUntil !== undefined) return;
    const delayMs = afterMs + this.#options.random() * jitterMs;
    this.#awaitedUntil = this.#options.now() + delayMs + AWAITED_RESTART_MS;
    this.#timers.push(setTimeout(() => this.#move(), delayMs));
    this.#planned = setTimeout(() => {
      this.#planned = undefined;
      this.#states.emit(this.state);
    }, delayMs + PLANNED_RESTART_MS);
  }

  /** Drops the link, as after a loss, and opens another unless the error is final. */
  fail(error: ServiceError): void {
    const phase = this.#phase;
    if (!("attempt" in phase)) return;
    const wasOpen = phase.kind !== "connecting";
    if (wasOpen && this.#isStable(phase)) this.#startOver();
    if (isFinal(error)) this.#enter({ kind: "closed", error });
    else if (phase.next !== undefined) this.#enter({ kind: "connecting", attempt: phase.next });
    else this.#wait(error);
    if (wasOpen) this.#events.lost(error);
  }

  [Symbol.dispose](): void {
    const { kind } = this.#phase;
    if (kind === "closed") return;
    this.#enter({ kind: "closed" });
    if (kind === "open" || kind === "leaving") this.#events.lost(disconnected());
  }

  get #openLink(): Link | undefined {
    return this.#phase.kind === "open" ? this.#phase.link : undefined;
  }

  /** Stops the timers of the previous phase, and ends its attempts and closes its links unless the new phase keeps them. */
  #enter(phase: Phase, ...timers: Timer[]): void {
    const before = this.#phase;
    for (const timer of [...this.#timers, this.#probe]) clearTimeout(timer);
    this.#timers = timers;
    this.#probe = undefined;
    this.#phase = phase;
    if (phase.kind === "open" || phase.kind === "closed") {
      clearTimeout(this.#planned);
      this.#planned = undefined;
      this.#awaitedUntil = undefined;
    }
    const kept = attemptsOf(phase);
    for (const attempt of attemptsOf(before)) if (!kept.includes(attempt)) attempt.abort();
    this.#states.emit(this.state);
  }

  #connect(): void {
    const attempt = new AbortController();
    this.#enter({ kind: "connecting", attempt });
    this.#attempt(attempt);
  }

  #attempt(attempt: AbortController): void {
    const { signal } = attempt;
    const { connectMs, hedgeMs } = this.#times;
    const failed = (cause: unknown): void => {
      if (!signal.aborted) this.#failed(attempt, asServiceError(cause));
    };
    const late = setTimeout(
      () => failed(new ServiceError("host_unreachable", `no answer within ${connectMs} ms`)),
      connectMs,
    );
    signal.addEventListener("abort", () => clearTimeout(late));
    const open = (own: AbortSignal): Promise<Link> => {
      const onMessage = (message: Uint8Array): void =>
        void (!own.aborted && this.#received(attempt, message));
      const onClose = ({ code, text }: LinkClose): void => {
        const reason = `the connection was closed (${code}${text === "" ? "" : `: ${text}`})`;
        if (!own.aborted) failed(new ServiceError("host_unreachable", reason));
      };
      return this.#options.open({ onMessage, onClose }, own);
    };
    const opened = (link: Link): void => {
      clearTimeout(late);
      signal.addEventListener("abort", () => link.close());
      if (signal.aborted) link.close();
      else if (this.#isCurrent(attempt)) this.#opened(attempt, link);
      else void this.#leave({ attempt, link });
    };
    hedged(open, { firstMs: hedgeMs, signal, isFinal: isFinalError, discard }).then(opened, failed);
  }

  #isCurrent(attempt: AbortController): boolean {
    return "attempt" in this.#phase && this.#phase.attempt === attempt;
  }

  /** An attempt has failed, or its link was closed. */
  #failed(attempt: AbortController, error: ServiceError): void {
    if (this.#isCurrent(attempt)) {
      if (this.#phase.kind === "connecting") this.#failure = error;
      this.fail(error);
    } else {
      attempt.abort();
      void this.#leave();
    }
  }

  #opened(attempt: AbortController, link: Link): void {
    this.#failure = undefined;
    this.#pings = 0;
    this.#sent = 0;
    this.#unanswered = 0;
    const beat = setInterval(() => this.#keepAlive(), this.#times.pingMs);
    this.#enter({ kind: "open", attempt, link, openedAt: this.#options.now() }, beat);
    if (this.#openLink === link) this.#events.opened();
  }

  // Any message proves that the link works: a PONG may be behind megabytes of output.
  #received(attempt: AbortController, message: Uint8Array): void {
    if (!this.#isCurrent(attempt)) return;
    this.#unanswered = 0;
    clearTimeout(this.#probe);
    this.#probe = undefined;
    if (this.#phase.kind === "leaving") this.#awaitMessage();
    this.#events.message(message);
  }

  #keepAlive(): void {
    if (this.#unanswered >= CLIENT_MAX_MISSED_PONGS) {
      this.#failSilent();
    } else {
      this.#unanswered += 1;
      this.ping();
    }
  }

  #awaitMessage(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => this.#failSilent(), this.#times.probeMs);
  }

  #failSilent(): void {
    this.#failure = new ServiceError("host_unreachable", "the server stopped answering");
    this.fail(this.#failure);
  }

  /** Opens the next link. A server that sends every client away is not asked again at once. */
  #move(): void {
    const phase = this.#phase;
    if (phase.kind !== "open") return;
    if (!this.#isStable(phase)) return void this.#leave();
    const next = new AbortController();
    this.#phase = { ...phase, next };
    this.#attempt(next);
  }

  /** Stops sending, but still receives until all answers have arrived; then continues on the next link, or opens one. */
  async #leave(next?: { readonly attempt: AbortController; readonly link: Link }): Promise<void> {
    const phase = this.#phase;
    if (phase.kind !== "open") return;
    const answered = succeeded(this.#events.leaving());
    const successor = next?.attempt ?? (this.#isStable(phase) ? new AbortController() : undefined);
    const leaving: Phase = { ...phase, kind: "leaving", next: successor };
    this.#enter(leaving);
    if (this.#phase === leaving) this.#awaitMessage();
    await answered;
    if (this.#phase === leaving) this.fail(disconnected());
    if (successor === undefined || !this.#isCurrent(successor)) return;
    if (next === undefined) this.#attempt(successor);
    else if (successor.signal.aborted) this.#connect();
    else this.#opened(successor, next.link);
  }

  #wait(error: ServiceError): void {
    const delay = this.#pause();
    const retry = setTimeout(() => this.#connect(), delay);
    this.#enter({ kind: "waiting", until: this.#options.now() + delay, error }, retry);
  }

  /** Until the next attempt, in ms. */
  #pause(): number {
    const isAwaited = this.#awaitedUntil !== undefined && this.#options.now() <= this.#awaitedUntil;
    if (!this.#isQuick && !isAwaited) return this.#backoff.next();
    const awaitedMs = this.#planned === undefined ? RECONNECT_AWAITED_MS : RECONNECT_PLANNED_MS;
    const longestMs = this.#isQuick ? this.#times.quickMs : awaitedMs;
    this.#isQuick = false;
    return longestMs * (1 - this.#options.random() / 2);
  }

  #isStable({ openedAt }: { readonly openedAt: number }): boolean {
    return this.#options.now() - openedAt >= this.#times.stableMs;
  }

  /** The next attempts come as soon as after a stable link. */
  #startOver(): void {
    this.#isQuick = true;
    this.#backoff.reset();
  }
}

/** Those that a phase keeps alive. */
function attemptsOf(phase: Phase): readonly AbortController[] {
  return "attempt" in phase ? [phase.attempt, phase.next].filter((attempt) => attempt !== undefined) : [];
}

function isFinalError(error: unknown): boolean {
  return isFinal(asServiceError(error));
}

function discard(link: Link): void {
  link.close();
}
