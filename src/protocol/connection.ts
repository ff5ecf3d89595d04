import { Backoff } from "../lib/backoff.ts";
import { Emitter } from "../lib/emitter.ts";
import { ServiceError } from "./errors.ts";
import { encodeFrame, FrameType } from "./frame.ts";
import {
  CLIENT_MAX_MISSED_PONGS,
  CLIENT_PING_INTERVAL_MS,
  CLIENT_PROBE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  RECONNECT_QUICK_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
  STABLE_LINK_MS,
} from "./limits.ts";
import type { Link, LinkClose, OpenLink } from "./link.ts";
import { writeU32 } from "./little-endian.ts";

export type ConnectionState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  /** `until`: when the next try is made, in milliseconds since the epoch. `error`: why there is no link. */
  | { readonly kind: "waiting"; readonly until: number; readonly error: ServiceError }
  /** For good. `error` is there unless it was closed on this side. */
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

export type BackoffTimes = {
  /** Before the first retry after a good link, a quick one: most cuts are short. */
  readonly quickMs: number;
  /** Before the second; twice as much each time after that, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
};

export type ConnectionTimes = {
  readonly connectMs: number;
  readonly pingMs: number;
  readonly probeMs: number;
  readonly stableMs: number;
};

/** What the owner is told. None of them may throw. */
export type ConnectionEvents = {
  /** A new link is open; nothing was sent on it yet. */
  readonly opened: () => void;
  readonly message: (message: Uint8Array) => void;
  /** The open link is gone. */
  readonly lost: (error: ServiceError) => void;
};

type Attempt = { readonly abort: AbortController; link: Link | undefined; openedAt: number };

const BACKOFF = { quickMs: RECONNECT_QUICK_MS, firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS };
const TIMES = {
  connectMs: CONNECT_TIMEOUT_MS,
  pingMs: CLIENT_PING_INTERVAL_MS,
  probeMs: CLIENT_PROBE_TIMEOUT_MS,
  stableMs: STABLE_LINK_MS,
};

/**
 * One link at a time, opened at once and again whenever it is lost, until disposed or until the server says that
 * another try is of no use. A link is lost when it closes or when nothing came for two PINGs.
 */
export class Connection implements Disposable {
  readonly #open: OpenLink;
  readonly #now: () => number;
  readonly #times: ConnectionTimes;
  readonly #backoff: Backoff;
  readonly #quickMs: number;
  readonly #random: () => number;
  /** The next try is the first after a good link, or the first of all. */
  #isQuick = true;
  readonly #events: ConnectionEvents;
  readonly #states = new Emitter<ConnectionState>();
  #state: ConnectionState = { kind: "connecting" };
  #attempt: Attempt | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;
  #pings = 0;
  #unanswered = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#open = options.open;
    this.#now = options.now ?? Date.now;
    this.#times = options.times ?? TIMES;
    this.#random = options.random ?? Math.random;
    const { quickMs, firstMs, maxMs } = options.backoff ?? BACKOFF;
    this.#quickMs = quickMs;
    this.#backoff = new Backoff({ firstMs, maxMs, random: this.#random });
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

  /** The open link, `undefined` while there is none. */
  get link(): Link | undefined {
    return this.#state.kind === "open" ? this.#attempt?.link : undefined;
  }

  /** As SessionSocket.opened. */
  opened(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let problem = new ServiceError("host_unreachable", `no connection within ${timeoutMs} ms`);
      const settled = (state: ConnectionState): boolean => {
        if (state.kind === "waiting") problem = state.error;
        else if (state.kind === "open") resolve();
        else if (state.kind === "closed") reject(state.error ?? disconnected());
        return state.kind === "open" || state.kind === "closed";
      };
      if (settled(this.#state)) return;
      const stop = new AbortController();
      const listening = this.onState((state) => void (settled(state) && stop.abort()));
      const deadline = setTimeout(() => stop.abort(), timeoutMs);
      stop.signal.addEventListener("abort", () => {
        clearTimeout(deadline);
        listening[Symbol.dispose]();
        reject(problem);
      });
    });
  }

  /** Sends a PING with the next number of this link and returns the number. */
  ping(): number {
    const payload = new Uint8Array(4);
    const number = this.#pings;
    writeU32(payload, 0, number);
    this.#pings = (this.#pings + 1) >>> 0;
    this.link?.send(encodeFrame(FrameType.PING, "", payload));
    return number;
  }

  /** The machine woke up or the network changed: tries at once, or makes sure that the open link still answers. */
  wake(): void {
    if (this.#state.kind === "waiting") this.#connect();
    if (this.#state.kind !== "open" || this.#probe !== undefined) return;
    this.ping();
    this.#probe = setTimeout(() => this.fail(silent()), this.#times.probeMs);
  }

  /** Gives the link or the try to open one up, and begins anew at once; not after it was closed for good. */
  reconnect(): void {
    this.#startOver();
    this.fail(disconnected());
    if (this.#state.kind === "waiting") this.#connect();
  }

  /** Gives the link up, as after a loss, and opens another unless the error says not to. */
  fail(error: ServiceError): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#drop(attempt);
    const wasOpen = attempt.link !== undefined;
    if (wasOpen && this.#now() - attempt.openedAt >= this.#times.stableMs) this.#startOver();
    if (isFinal(error)) this.#setState({ kind: "closed", error });
    else this.#wait(error);
    if (wasOpen) this.#events.lost(error);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#retry);
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
    const late = new ServiceError("host_unreachable", `no answer within ${this.#times.connectMs} ms`);
    const deadline = setTimeout(() => fail(late), this.#times.connectMs);
    const handlers = {
      onMessage: (message: Uint8Array): void => void (isCurrent() && this.#received(message)),
      onClose: (reason: LinkClose): void => fail(closed(reason)),
    };
    this.#open(handlers, attempt.abort.signal)
      .then((link) => (isCurrent() ? this.#opened(attempt, link) : link.close()), fail)
      .finally(() => clearTimeout(deadline));
  }

  #opened(attempt: Attempt, link: Link): void {
    attempt.link = link;
    attempt.openedAt = this.#now();
    this.#pings = 0;
    this.#unanswered = 0;
    this.#beat = setInterval(() => this.#keepAlive(), this.#times.pingMs);
    this.#setState({ kind: "open" });
    if (this.link === link) this.#events.opened();
  }

  // Whatever comes proves that the link lives: a PONG may stand behind megabytes of output.
  #received(message: Uint8Array): void {
    this.#unanswered = 0;
    if (this.#probe !== undefined) {
      clearTimeout(this.#probe);
      this.#probe = undefined;
    }
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
    const delay = this.#isQuick ? this.#quickMs * (1 - this.#random() / 2) : this.#backoff.next();
    this.#isQuick = false;
    this.#retry = setTimeout(() => this.#connect(), delay);
    this.#setState({ kind: "waiting", until: this.#now() + delay, error });
  }

  #startOver(): void {
    this.#isQuick = true;
    this.#backoff.reset();
  }

  #drop(attempt: Attempt): void {
    this.#attempt = undefined;
    clearInterval(this.#beat);
    clearTimeout(this.#probe);
    this.#probe = undefined;
    if (attempt.link === undefined) attempt.abort.abort();
    else attempt.link.close();
  }

  #setState(state: ConnectionState): void {
    this.#state = state;
    this.#states.emit(state);
  }
}

/** Whether another try is of no use: the server understood, and refused. */
export function isFinal(error: ServiceError): boolean {
  return error.status >= 400 && error.status < 500 && error.status !== 429;
}

function disconnected(): ServiceError {
  return new ServiceError("host_unreachable", "disconnected");
}

function silent(): ServiceError {
  return new ServiceError("host_unreachable", "the connection fell silent");
}

function closed({ code, text }: LinkClose): ServiceError {
  const reason = text === "" ? "" : `: ${text}`;
  return new ServiceError("host_unreachable", `the connection was closed (${code}${reason})`);
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = error instanceof Error ? error.message : "the connection failed";
  return new ServiceError("host_unreachable", message, { cause: error });
}
