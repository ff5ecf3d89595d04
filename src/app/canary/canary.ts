// `--canary`: a small session on each machine whose output this server checks as a viewer of itself, from end to end.
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import type { Log } from "../../log.ts";
import { type Client, createClient } from "../../protocol/client/client.ts";
import { SessionSocket } from "../../protocol/client/session-socket.ts";
import { createSender } from "../../remote/send.ts";
import { openLink } from "../../remote/uplink.ts";
import { CanarySession } from "./canary-session.ts";
import { CANARY_COMMAND } from "./canary-stream.ts";

/** `remoteId`: on an HQ. */
export type CanaryMachine = {
  readonly name: string;
  readonly remoteId: string | undefined;
  /** It has no canary, which would keep it from being drained. */
  readonly isCordoned: boolean;
};

type CanaryOptions = {
  /** Of this server. */
  readonly socketPath: string;
  readonly version: string;
  readonly machines: () => readonly CanaryMachine[];
  readonly log: Pick<Log, "error" | "warn" | "info">;
};

/** The canary of one machine. */
type Watched = {
  readonly machine: CanaryMachine;
  /** Seconds since the epoch: the last echo, or the beginning. */
  lastSuccess: number;
  roundTripMs: number | undefined;
  session: CanarySession | undefined;
  /** The creation or the end of a session. */
  work: Promise<void> | undefined;
  /** The last failure was logged. */
  hasFailed: boolean;
  retryAt: number;
};

const INTERVAL_MS = 2_000;
const RETRY_MS = 10_000;
const STOP_TIMEOUT_MS = 5_000;

const now = performance.now.bind(performance);

export class Canary implements AsyncDisposable {
  /** Since the start, on all machines. */
  bytesLost = 0;
  readonly #options: CanaryOptions;
  readonly #owned = new DisposableStack();
  readonly #client: Client;
  readonly #socket: SessionSocket;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CanaryOptions) {
    this.#options = options;
    const { socketPath, version } = options;
    const target = { socketPath };
    this.#client = createClient(this.#owned.use(createSender(target)).send);
    this.#socket = this.#owned.use(
      new SessionSocket({
        open: (handlers, signal) => openLink(target, handlers, signal),
        ...{ clientName: "canary", version },
      }),
    );
  }

  /** By machine: seconds since the epoch. */
  get lastSuccesses(): readonly (readonly [{ readonly remote: string }, number])[] {
    return [...this.#watched.values()].map(({ machine, lastSuccess }) => [
      { remote: machine.name },
      lastSuccess,
    ]);
  }

  /** By machine, in seconds. */
  get roundTrips(): readonly (readonly [{ readonly remote: string }, number])[] {
    return [...this.#watched.values()].flatMap(({ machine, roundTripMs }) =>
      roundTripMs === undefined ? [] : [[{ remote: machine.name }, roundTripMs / 1_000] as const],
    );
  }

  /** The server listens on its socket. */
  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS).unref();
    this.#check();
  }

  /** Ends all canaries; one whose machine does not answer ends by itself within a minute. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const ends = Promise.all([...this.#watched.values()].map((watched) => this.#end(watched)));
    await withDeadline(ends, STOP_TIMEOUT_MS, "the end of the canaries").catch((error: unknown) => {
      if (!isTimeout(error)) throw error;
    });
    this.#owned.dispose();
  }

  #check(): void {
    const machines = new Map(this.#options.machines().map((machine) => [machine.name, machine]));
    for (const [name, watched] of this.#watched) {
      if (!isObsolete(watched, machines.get(name))) continue;
      this.#watched.delete(name);
      void this.#end(watched);
    }
    for (const machine of machines.values()) if (!machine.isCordoned) this.#visit(machine);
  }

  #visit(machine: CanaryMachine): void {
    const known = this.#watched.get(machine.name) ?? watchedFrom(machine);
    this.#watched.set(machine.name, known);
    if (known.work !== undefined) return;
    if (known.session?.isOver === true) known.work = this.#drop(known);
    else if (known.session !== undefined) known.session.ping();
    else if (now() >= known.retryAt) known.work = this.#create(known);
  }

  async #create(watched: Watched): Promise<void> {
    const { name: remote, remoteId } = watched.machine;
    const { log } = this.#options;
    try {
      const record = await this.#client.create({
        ...{ name: "canary", command: [...CANARY_COMMAND], cwd: "/", cols: 80, rows: 24, transient: true },
        ...(remoteId === undefined ? {} : { remoteId }),
      });
      watched.session = new CanarySession({
        ...{ client: this.#client, socket: this.#socket, record, now },
        onEcho: (roundTripMs) => {
          watched.roundTripMs = roundTripMs;
          watched.lastSuccess = Date.now() / 1_000;
        },
        onLost: (bytes) => {
          this.bytesLost += bytes;
          log.error({ remote, session: record.id, bytes }, "canary lost bytes");
        },
      });
      if (watched.hasFailed) log.info({ remote }, "canary runs again");
      watched.hasFailed = false;
    } catch (error) {
      watched.retryAt = now() + RETRY_MS;
      if (!watched.hasFailed) log.warn({ remote, error }, "canary not started");
      watched.hasFailed = true;
    } finally {
      watched.work = undefined;
    }
  }

  async #drop(watched: Watched): Promise<void> {
    const { session } = watched;
    watched.session = undefined;
    // It may be gone with its host.
    await session?.end().catch(() => undefined);
    watched.work = undefined;
  }

  async #end(watched: Watched): Promise<void> {
    await watched.work;
    await this.#drop(watched);
  }
}

/** The canary of a remote that has left continues when the remote returns. */
function isObsolete({ machine, session }: Watched, current: CanaryMachine | undefined): boolean {
  if (current === undefined) return session?.isOver !== false;
  return current.isCordoned || current.remoteId !== machine.remoteId;
}

function watchedFrom(machine: CanaryMachine): Watched {
  const none = { roundTripMs: undefined, session: undefined, work: undefined };
  return { machine, lastSuccess: Date.now() / 1_000, ...none, hasFailed: false, retryAt: 0 };
}
