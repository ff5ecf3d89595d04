// The remote's side of the registry: it registers with its HQ and repeats that when needed, as after sleep or a restart.
import { setTimeout as pause } from "node:timers/promises";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { Tally } from "../../lib/data/tally.ts";
import { inTrace, newTrace } from "../../lib/trace.ts";
import type { Log } from "../../log.ts";
import type { Caller } from "../../protocol/client/caller.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
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

/** Connections of HQs that receive the events of all sessions; `closed` counts them since the start. */
export type Uplinks = { readonly isOpen: boolean; readonly closed: number };

export type RegistrationOptions = {
  /** Answers are read as bytes, because the specification defines only their status. */
  readonly hq: Pick<Caller, "call" | "bytes">;
  readonly request: RegisterRemote;
  readonly backend: Pick<SessionBackend, "watch">;
  /** While one is open, no requests announce sessions. */
  readonly uplinks: () => Uplinks;
  /** Called after each registration. */
  readonly onRegistered?: () => void;
  readonly log: Pick<Log, "info" | "warn">;
  /** Milliseconds since 1970: the clock that jumps. */
  readonly now: () => number;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

/** Identifies a start of the HQ. The specification has only the uptime. */
type HqIdentity = { readonly instanceId?: string | undefined; readonly uptime?: number | undefined };

type Registered = { readonly hq: HqIdentity | undefined; readonly request: RegisterRemote };

/** Registers until it succeeds, and again whenever it is due. Disposing it leaves the HQ. */
export class Registration implements AsyncDisposable {
  /** Attempts to register since the start, by result: `ok` or `failed`. */
  readonly registrations = new Tally("result").expecting(["ok"], ["failed"]);
  readonly #options: RegistrationOptions;
  /** Replaced when it changes. */
  #request: RegisterRemote;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #watching: Disposable;
  readonly #running: Promise<void>;
  #isRegistered = false;
  /** Aborted when the HQ does not know this remote any more; another one for each registration. */
  #forgotten = new AbortController();
  /** The latest request that was sent: the HQ may know this remote even if it did not answer. */
  #sent: Promise<unknown> | undefined;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#request = options.request;
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

  /** Registers again with the change, as soon as the HQ can be reached. */
  update(change: Pick<RegisterRemote, "cordoned">): void {
    this.#request = { ...this.#request, ...change };
    this.#forgotten.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    this.#stop.abort();
    await this.#running;
    if (this.#sent === undefined) return;
    // The HQ may still carry it out, and must not do so after the removal.
    await succeeded(withDeadline(this.#sent, HEALTH_CHECK_TIMEOUT_MS, "the registration with the HQ"));
    const leave = this.#options.hq.bytes(endpoints.removeRemote, { params: { id: this.#request.id } });
    // The specification has no way to leave: an HQ that knows none removes the remote by its health check.
    await withDeadline(leave, HEALTH_CHECK_TIMEOUT_MS, "leaving the HQ").catch((error) => {
      const { name, url } = this.#request;
      const reason = errorMessage(error);
      this.#options.log.info({ name, url, reason }, "the HQ was not told that this remote stops");
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { closed } = this.#options.uplinks();
      await inTrace(newTrace(), () => this.#register()).then(
        (registered) => this.#stay(registered, closed),
        (error) => this.#failed(error),
      );
    }
  }

  /**
   * Returns when it is time to register again (contract 6.2): after a minute, when the clock has jumped, when another start
   * of the HQ answers or the same one after it did not, when the HQ has forgotten this remote, and when the request has
   * changed. `hq` and `closed`: the HQ and the number of closed uplinks before the registration.
   */
  async #stay({ hq, request }: Registered, closed: number): Promise<void> {
    const { now, uplinks } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, this.#forgotten.signal]);
    const registeredAt = now();
    let checkedAt = registeredAt;
    let known = hq;
    let isSilent = false;
    for (let at = registeredAt; !signal.aborted && request === this.#request; at = now()) {
      await pause(CLOCK_CHECK_MS, undefined, { signal }).catch(() => undefined);
      const passedMs = now() - at;
      if (passedMs < 0 || passedMs > CLOCK_CHECK_MS + CLOCK_JUMP_MS) return;
      if (now() - registeredAt >= REGISTRATION_REFRESH_MS) return;
      // An HQ that closes its connection restarts or has removed this remote: the next answer causes a registration.
      if (uplinks().closed !== closed) isSilent = true;
      if (!isSilent && now() - checkedAt < HQ_CHECK_MS) continue;
      checkedAt = now();
      const seen = await this.#identityOfHq().catch(() => undefined);
      if (seen !== undefined && (isSilent || known === undefined || !isSame(seen, known))) return;
      isSilent = seen === undefined;
      known = seen ?? known;
    }
  }

  async #register(): Promise<Registered> {
    const { hq, log } = this.#options;
    const { signal } = this.#stop;
    // Asked first: if the HQ restarts right after the registration, the next check sees another identity.
    const identity = await this.#identityOfHq().catch(() => undefined);
    signal.throwIfAborted();
    const request = this.#request;
    this.#sent = hq.bytes(endpoints.registerRemote, { body: request });
    await withDeadline(this.#sent, REGISTRATION_TIMEOUT_MS, "the registration with the HQ", signal);
    this.registrations.add("ok");
    const { name, url } = request;
    if (!this.#isRegistered) log.info({ name, url }, "registered with the HQ");
    this.#isRegistered = true;
    this.#forgotten = new AbortController();
    this.#backoff.reset();
    this.#options.onRegistered?.();
    return { hq: identity, request };
  }

  async #failed(error: unknown): Promise<void> {
    const { name, url } = this.#request;
    const { log } = this.#options;
    const { signal } = this.#stop;
    this.#isRegistered = false;
    if (signal.aborted) return;
    this.registrations.add("failed");
    log.warn({ name, url, reason: errorMessage(error) }, "not registered with the HQ");
    await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
  }

  async #identityOfHq(): Promise<HqIdentity> {
    const health = this.#options.hq.call(anyHealth);
    return await withDeadline(health, HEALTH_CHECK_TIMEOUT_MS, "the health of the HQ", this.#stop.signal);
  }

  async #announce(action: "created" | "deleted", sessionId: string | undefined): Promise<void> {
    const { hq, log } = this.#options;
    if (!this.#isRegistered || sessionId === undefined || this.#options.uplinks().isOpen) return;
    const { name } = this.#request;
    const forgotten = this.#forgotten;
    try {
      await hq.bytes(endpoints.refreshSessions, { params: { name }, body: { action, sessionId } });
    } catch (error) {
      // ttyhq's HQ also hears of it over its uplink, and reads the list when that is open again.
      log.warn({ name, action, sessionId, reason: errorMessage(error) }, "session not announced to the HQ");
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
