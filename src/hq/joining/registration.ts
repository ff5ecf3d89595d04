// A remote's side of the registry: it joins its HQ, stays in it, and comes back after sleep and restarts by itself.
import { setTimeout as pause } from "node:timers/promises";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { Tally } from "../../lib/data/tally.ts";
import { inTrace, newTrace } from "../../lib/trace.ts";
import type { Caller } from "../../protocol/client/caller.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  CLOCK_CHECK_MS,
  CLOCK_JUMP_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  HQ_CHECK_MS,
  REGISTRATION_REFRESH_MS,
  REGISTRATION_TIMEOUT_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
} from "../../protocol/limits.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import { anyHealth } from "../health/remote-health.ts";

export type RegistrationLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

/** Connections of HQs that receive the events of all sessions; `closed` counts them since the start. */
export type Uplinks = { readonly isOpen: boolean; readonly closed: number };

export type RegistrationOptions = {
  /** Answers are read as bytes: of what an HQ answers the specification shows no more than the status. */
  readonly hq: Pick<Caller, "call" | "bytes">;
  readonly request: RegisterRemote;
  readonly backend: Pick<SessionBackend, "watch">;
  /** Connections on which an HQ hears of every session: while one is open, no request tells it of sessions. */
  readonly uplinks: () => Uplinks;
  readonly log: RegistrationLog;
  /** Milliseconds since the epoch: the clock that jumps. */
  readonly now: () => number;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

/** What was seen of the HQ: it is the one that knows this remote, another one, or out of reach. */
export type HqIdentityCheck = "same" | "other" | "silent";

/** What the HQ's health tells of it; the specification has the uptime alone. */
type HqIdentity = { readonly instanceId?: string | undefined; readonly uptime?: number | undefined };

/** Whether to register now (contract 6.2). `since…` in ms; `hq` and `hqBefore` are undefined where they were not checked. */
export function isRegistrationDue(check: {
  readonly sinceRegistered: number;
  readonly sinceCheck: number;
  readonly hq: HqIdentityCheck | undefined;
  readonly hqBefore: HqIdentityCheck | undefined;
}): boolean {
  const hasJumped = check.sinceCheck < 0 || check.sinceCheck > CLOCK_CHECK_MS + CLOCK_JUMP_MS;
  const isBack = check.hqBefore === "silent" && check.hq === "same";
  return hasJumped || isBack || check.hq === "other" || check.sinceRegistered >= REGISTRATION_REFRESH_MS;
}

/** Registers until it succeeds, and again whenever it is due. Disposing it leaves the HQ. */
export class Registration implements AsyncDisposable {
  /** What became of each try to register since the start: `ok` or `failed`. */
  readonly registrations = new Tally("result").expecting(["ok"], ["failed"]);
  readonly #options: RegistrationOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #watching: Disposable;
  readonly #running: Promise<void>;
  #seen: HqIdentity | undefined;
  #isRegistered = false;
  /** Aborted when the HQ says that it does not know this remote any more; another one with each registration. */
  #forgotten = new AbortController();
  /** The HQ may know this remote: it was told to, whether or not it answered. */
  #isKnown = false;
  #hq: HqIdentityCheck | undefined;
  #checkedAt = 0;
  /** Uplinks that had closed at the last check. */
  #closedUplinks = 0;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random: options.random });
    this.#watching = options.backend.watch(({ type, sessionId }) => {
      if (type === "session-start") void this.#announce("created", sessionId);
      if (type === "session-removed") void this.#announce("deleted", sessionId);
    });
    this.#running = this.#run();
  }

  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    this.#stop.abort();
    await this.#running;
    if (!this.#isKnown) return;
    const { hq, request } = this.#options;
    const leave = hq.bytes(endpoints.removeRemote, { params: { id: request.id } });
    // The specification has no way to leave: an HQ that knows none removes the remote by its health check.
    await withDeadline(leave, HEALTH_CHECK_TIMEOUT_MS, "leaving the HQ").catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (await inTrace(newTrace(), () => this.#register())) await this.#stay();
      else await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns when it is time to register again. */
  async #stay(): Promise<void> {
    const { now, uplinks } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, this.#forgotten.signal]);
    const registered = now();
    for (let checked = registered; !signal.aborted; checked = now()) {
      await pause(CLOCK_CHECK_MS, undefined, { signal }).catch(() => undefined);
      // An HQ that closes its connection restarts or has removed this remote: the next answer causes a registration.
      const { closed } = uplinks();
      if (closed !== this.#closedUplinks) this.#hq = "silent";
      this.#closedUplinks = closed;
      const hqBefore = this.#hq;
      const times = { sinceRegistered: now() - registered, sinceCheck: now() - checked };
      if (isRegistrationDue({ ...times, hq: undefined, hqBefore })) return;
      const isCheckDue = hqBefore === "silent" || Math.abs(now() - this.#checkedAt) >= HQ_CHECK_MS;
      if (isCheckDue) {
        this.#hq = await this.#check();
        if (isRegistrationDue({ ...times, hq: this.#hq, hqBefore })) return;
      }
    }
  }

  async #register(): Promise<boolean> {
    const { hq, request, log } = this.#options;
    const { name, url } = request;
    this.#closedUplinks = this.#options.uplinks().closed;
    try {
      // Before it: an HQ that is started again right after it, and may not know this remote, is another one at the next
      // check. So is one that does not say which it is.
      const identity = await this.#identityOfHq().catch(() => undefined);
      this.#stop.signal.throwIfAborted();
      this.#isKnown = true;
      const registration = hq.bytes(endpoints.registerRemote, { body: request });
      await withDeadline(
        registration,
        REGISTRATION_TIMEOUT_MS,
        "the registration with the HQ",
        this.#stop.signal,
      );
      this.#seen = identity;
      this.registrations.add("ok");
      if (!this.#isRegistered) log.info({ name, url }, "registered with the HQ");
      this.#isRegistered = true;
      this.#forgotten = new AbortController();
      this.#hq = "same";
      this.#checkedAt = this.#options.now();
      this.#backoff.reset();
    } catch (error) {
      const reason = reasonOf(error);
      if (!this.#stop.signal.aborted) {
        this.registrations.add("failed");
        log.warn({ name, url, reason }, "not registered with the HQ");
      }
      this.#isRegistered = false;
    }
    return this.#isRegistered;
  }

  async #check(): Promise<HqIdentityCheck> {
    this.#checkedAt = this.#options.now();
    const before = this.#seen;
    try {
      this.#seen = await this.#identityOfHq();
    } catch {
      return "silent";
    }
    return before !== undefined && isSame(this.#seen, before) ? "same" : "other";
  }

  async #identityOfHq(): Promise<HqIdentity> {
    const health = this.#options.hq.call(anyHealth);
    const signal = this.#stop.signal;
    return await withDeadline(health, HEALTH_CHECK_TIMEOUT_MS, "the health of the HQ", signal);
  }

  async #announce(action: "created" | "deleted", sessionId: string | undefined): Promise<void> {
    const { hq, request, log } = this.#options;
    if (!this.#isRegistered || sessionId === undefined || this.#options.uplinks().isOpen) return;
    const { name } = request;
    const forgotten = this.#forgotten;
    try {
      await hq.bytes(endpoints.refreshSessions, { params: { name }, body: { action, sessionId } });
    } catch (error) {
      // An HQ of ours hears of it by the event channel, too, and reads the list when that is open again.
      log.warn({ name, action, sessionId, reason: reasonOf(error) }, "the HQ was not told of a session");
      // The registration makes it read the list, with this session.
      if (error instanceof ServiceError && error.status === 404) forgotten.abort();
    }
  }
}

/** An HQ that does not say which one it is was started again when its uptime has gone back. */
function isSame(now: HqIdentity, before: HqIdentity): boolean {
  const isYounger = now.instanceId === undefined && (now.uptime ?? 0) < (before.uptime ?? 0);
  return now.instanceId === before.instanceId && !isYounger;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
