// `--canary`: a small session on each machine whose output this server checks as a viewer of itself, from end to end.
import { withDeadline } from "../../lib/async/deadline.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { createClient } from "../../protocol/client/client.ts";
import { SessionSocket } from "../../protocol/client/session-socket.ts";
import { createSender } from "../../remote/send.ts";
import { openLink } from "../../remote/uplink.ts";
import type { ServerParts } from "../server-context.ts";
import { type CanaryMachine, type CanaryParts, MachineCanary } from "./machine-canary.ts";

const INTERVAL_MS = 2_000;
const STOP_TIMEOUT_MS = 5_000;

export class Canary implements AsyncDisposable {
  /** Since the start, on all machines. */
  #bytesLost = 0;
  readonly #machines: () => readonly CanaryMachine[];
  readonly #owned = new DisposableStack();
  readonly #parts: CanaryParts;
  readonly #canaries = new Map<string, MachineCanary>();
  readonly #timer: NodeJS.Timeout;

  /** The server listens on its socket. */
  constructor(
    parts: Pick<ServerParts, "context" | "controlDir" | "log"> & {
      readonly role: { readonly machines: () => readonly CanaryMachine[] };
      readonly metrics: Metrics;
    },
  ) {
    const { context, controlDir, role, metrics, log } = parts;
    this.#machines = role.machines;
    const target = { socketPath: controlDir.serverSocket };
    const client = createClient(this.#owned.use(createSender(target)).send);
    const socket = this.#owned.use(
      new SessionSocket({
        open: (handlers, signal) => openLink(target, handlers, signal),
        ...{ clientName: "canary", version: context.version },
      }),
    );
    const onLost = (bytes: number): void => {
      this.#bytesLost += bytes;
    };
    this.#parts = { client, socket, log, onLost };
    this.#measure(metrics);
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS).unref();
    this.#check();
  }

  /** Ends all canaries; one whose machine does not answer ends by itself within a minute. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const ends = Promise.all([...this.#canaries.values()].map((canary) => canary.end()));
    await withDeadline(ends, STOP_TIMEOUT_MS, "the end of the canaries").catch(() => undefined);
    this.#owned.dispose();
  }

  #measure(metrics: Metrics): void {
    const canaries = this.#canaries;
    metrics.counter(
      "bytes_lost_total",
      "Bytes of canaries that were missing or wrong.",
      () => this.#bytesLost,
    );
    metrics.gauge(
      "canary_last_success_timestamp_seconds",
      "When an input to the canary of a machine last came back.",
      () => canaries.values().map(({ machine, lastSuccess }) => [{ remote: machine.name }, lastSuccess]),
    );
    metrics.gauge(
      "canary_round_trip_seconds",
      "How long the last input to the canary of a machine took to come back.",
      () =>
        canaries
          .values()
          .filter(({ roundTripMs }) => roundTripMs !== undefined)
          .map(({ machine, roundTripMs = 0 }) => [{ remote: machine.name }, roundTripMs / 1_000]),
    );
  }

  #check(): void {
    const machines = new Map(this.#machines().map((machine) => [machine.name, machine]));
    for (const [name, canary] of this.#canaries) {
      if (!isObsolete(canary, machines.get(name))) continue;
      this.#canaries.delete(name);
      void canary.end();
    }
    for (const [name, machine] of machines) {
      if (machine.isCordoned) continue;
      const canary = this.#canaries.get(name) ?? new MachineCanary(machine, this.#parts);
      this.#canaries.set(name, canary);
      canary.visit();
    }
  }
}

/** The canary of a remote that has left continues when the remote returns. */
function isObsolete({ machine, isRunning }: MachineCanary, current: CanaryMachine | undefined): boolean {
  if (current === undefined) return !isRunning;
  return current.isCordoned || current.remoteId !== machine.remoteId;
}
