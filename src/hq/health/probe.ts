import { withDeadline } from "../../lib/async/deadline.ts";
import { histogram } from "../../lib/data/histogram.ts";
import { Tally } from "../../lib/data/tally.ts";
import {
  HEALTH_CHECK_INTERVAL_MS,
  HEALTH_CHECK_LATENESS_MS,
  HEALTH_CHECK_TIMEOUT_MS,
} from "../../protocol/limits.ts";
import type { Registry, Remote } from "../registry/registry.ts";

/** What a remote says of itself: members that an older or another program leaves out are undefined. */
export type RemoteHealth = {
  readonly instanceId?: string | undefined;
  readonly mode?: string | undefined;
  readonly remoteId?: string | undefined;
};

/** Asks a remote how it is, with its bearer token. */
export type AskHealth = (remote: Pick<Remote, "url" | "token">, signal: AbortSignal) => Promise<RemoteHealth>;

/** What a remote answers within HEALTH_CHECK_TIMEOUT_MS, or the time given; `undefined` for none. */
export async function healthOf(
  ask: AskHealth,
  remote: Pick<Remote, "url" | "token">,
  timeoutMs: number = HEALTH_CHECK_TIMEOUT_MS,
): Promise<RemoteHealth | undefined> {
  try {
    return await withDeadline((signal) => ask(remote, signal), timeoutMs, `the health of ${remote.url}`);
  } catch {
    return undefined;
  }
}

/**
 * Whether that remote answers, and not another one at its address. A deadline that comes clearly late is not the
 * remote's: this process stood still (stopped, swapped out, no CPU), and the answer may have come meanwhile, unread. So
 * it is asked once more. `clock` in ms, never going back.
 */
export async function isAlive(
  ask: AskHealth,
  remote: Pick<Remote, "id" | "url" | "token">,
  clock: () => number = monotonicClock,
): Promise<boolean> {
  const began = clock();
  const first = await healthOf(ask, remote);
  const isVoid = clock() - began > HEALTH_CHECK_TIMEOUT_MS + HEALTH_CHECK_LATENESS_MS;
  const health = first === undefined && isVoid ? await healthOf(ask, remote) : first;
  return isItself(health, remote);
}

/** Whether that is an answer, and not another remote's. */
export function isItself(health: RemoteHealth | undefined, { id }: Pick<Remote, "id">): boolean {
  return health !== undefined && (health.remoteId ?? id) === id;
}

function monotonicClock(): number {
  return performance.now();
}

/** Whether this HQ may remove remotes: `passed` to it by another one, which none of them answered. */
export type LeaseState = "own" | "passed" | "other";

/** Which of several HQs may remove remotes: one at a time, and none that cannot tell the others. */
export type Lease = {
  /** Takes it, or keeps it, until some time after the next look. Never rejects: what is out of reach is another's. */
  take(): Promise<LeaseState>;
  /** Leaves it to the others for a while. False where there are none. Never rejects. */
  pass(): Promise<boolean>;
};

export type ProbeOptions = {
  readonly registry: Registry;
  readonly ask: AskHealth;
  /** `undefined`: there is no other HQ. */
  readonly lease?: Lease | undefined;
  /** Called for each remote that answered. */
  readonly onAlive: (remote: Remote) => void;
  /** Called for each that did not, when it is removed. */
  readonly onSilent: (remote: Remote) => void;
  /** Milliseconds, never going back; that of the process unless another one is given. */
  readonly clock?: (() => number) | undefined;
};

/**
 * Looks after all remotes side by side, every 15 s; one that fails is removed (specification 3.2, contract 6.3). Of
 * several HQs each looks, so that each knows its remotes; one removes.
 */
export class Probe implements Disposable {
  /** Answers since the start: `alive` or `silent`, and the seconds that they took. */
  readonly results = new Tally("result").expecting(["alive"], ["silent"]);
  readonly durations = histogram("probe_duration_seconds", "Time until a remote answered.");
  /** Remotes that were removed because they did not answer. */
  removed = 0;
  readonly #options: ProbeOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), HEALTH_CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Resolves when every remote has answered or was removed. */
  async look(): Promise<void> {
    const { registry, lease } = this.#options;
    const { remotes } = registry;
    const taking = lease?.take() ?? "own";
    const answers = await Promise.all(remotes.map((remote) => this.#lookAt(remote)));
    const silent = remotes.filter((_, index) => answers[index] === "silent");
    if (silent.length === 0 || !(await this.#mayRemove(await taking, silent.length === remotes.length)))
      return;
    await Promise.all(silent.map((remote) => this.#remove(remote)));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #lookAt(remote: Remote): Promise<"alive" | "silent"> {
    const { registry, ask, onAlive, clock = monotonicClock } = this.#options;
    const began = clock();
    const isHere = await isAlive(ask, remote, clock);
    this.durations.observe((clock() - began) / 1000);
    this.results.add(isHere ? "alive" : "silent");
    if (!isHere) return "silent";
    const current = registry.byId(remote.id);
    if (current === undefined || current.lastHeartbeat !== remote.lastHeartbeat) return "alive";
    registry.seen(remote.id);
    onAlive(current);
    return "alive";
  }

  /** When nobody answers it may be this HQ that is cut off: another one shall look before all are removed. */
  async #mayRemove(state: LeaseState, isNobodyThere: boolean): Promise<boolean> {
    const { lease } = this.#options;
    if (lease === undefined) return true;
    if (state === "other") return false;
    if (isNobodyThere && state === "own" && (await lease.pass())) return false;
    // This process may have been stopped while it looked, until the lease was another's.
    return (await lease.take()) !== "other";
  }

  async #remove(remote: Remote): Promise<void> {
    const { registry, onSilent } = this.#options;
    const current = registry.byId(remote.id);
    // It may have registered anew while it was asked, at another address perhaps: that is a sign of life.
    if (current === undefined || current.lastHeartbeat !== remote.lastHeartbeat) return;
    this.removed += 1;
    await registry.expire(current);
    // Not before: who is told asks it how it is, and takes back nobody who is still there.
    onSilent(current);
  }
}
