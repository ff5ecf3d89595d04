// The data of each machine of an HQ, for their view: pure functions.
import type { Health } from "../../protocol/schemas/health.ts";
import type { RemoteKeyRecord } from "../../protocol/schemas/join.ts";
import { LOCAL, type RemoteRecord } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";

export type MachineState = "up" | "cordoned" | "suspect" | "down" | "left";

export type MachineLine = {
  /** The name, which is constant for a machine. */
  readonly id: string;
  readonly name: string;
  readonly state: MachineState;
  /** Undefined for the HQ itself and for unregistered machines. */
  readonly url?: string | undefined;
  readonly version?: string | undefined;
  /** Whether it differs from the HQ's. */
  readonly isOtherVersion: boolean;
  /** Of the last minute, per CPU. */
  readonly load?: number | undefined;
  readonly latencyMs?: number | undefined;
  /** ISO 8601; for machines that left, the time when they joined. */
  readonly seen?: string | undefined;
  readonly labels: readonly string[];
  readonly running: number;
  readonly ended: number;
  readonly hasKey: boolean;
};

export type FleetStatus = {
  readonly health: Pick<Health, "version" | "hqSessions" | "cordoned" | "load">;
  readonly remotes: readonly RemoteRecord[];
  /** Machines with a key; none for callers who may not see them. */
  readonly keys: readonly RemoteKeyRecord[];
  readonly sessions: readonly SessionRecord[];
};

export type MachineOrder = "name" | "load" | "latency" | "sessions";

/** The HQ itself first, if it has sessions. */
export function machineLines({ health, remotes, keys, sessions }: FleetStatus): readonly MachineLine[] {
  const counts = countSessions(sessions);
  const keyed = new Set(keys.map(({ name }) => name));
  const own = (name: string) => ({
    ...{ id: name, name, hasKey: keyed.has(name), labels: [], isOtherVersion: false },
    ...(counts.get(name) ?? { running: 0, ended: 0 }),
  });
  const { version, load, cordoned } = health;
  const hq = { ...own(LOCAL), version, load, state: cordoned ? "cordoned" : "up" } as const;
  const registered = remotes.map(
    (remote): MachineLine => ({
      ...own(remote.name),
      state: stateOf(remote),
      ...{ url: remote.url || undefined, seen: remote.lastHeartbeat },
      ...{ version: remote.version, load: remote.load, latencyMs: remote.latencyMs },
      isOtherVersion: remote.version !== undefined && remote.version !== version,
      labels: Object.entries(remote.labels ?? {}).map((label) => label.join("=")),
    }),
  );
  const here = new Set(remotes.map(({ name }) => name));
  const left = keys
    .filter(({ name }) => !here.has(name))
    .map(({ name, enrolledAt }): MachineLine => ({ ...own(name), state: "left", seen: enrolledAt }));
  return [...(health.hqSessions ? [hq] : []), ...registered, ...left];
}

function stateOf({ status, cordoned }: RemoteRecord): MachineState {
  if (status === "down" || status === "suspect") return status;
  return cordoned ? "cordoned" : "up";
}

function countSessions(
  sessions: readonly SessionRecord[],
): ReadonlyMap<string, Pick<MachineLine, "running" | "ended">> {
  const counts = new Map<string, { running: number; ended: number }>();
  for (const { source = LOCAL, status } of sessions) {
    const count = counts.get(source) ?? { running: 0, ended: 0 };
    count[status === "exited" ? "ended" : "running"] += 1;
    counts.set(source, count);
  }
  return counts;
}

/** Machines with all words in their name, state, version or labels. Descending, except by name. */
export function chosenLines(
  lines: readonly MachineLine[],
  { filter, order }: { readonly filter: string; readonly order: MachineOrder },
): readonly MachineLine[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isChosen = ({ name, state, version = "", labels }: MachineLine): boolean => {
    const text = [name, state, version, ...labels].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const rank = ({ load = -1, latencyMs = -1, running }: MachineLine): number =>
    ({ name: 0, load: -load, latency: -latencyMs, sessions: -running })[order];
  return lines
    .filter(isChosen)
    .toSorted((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}
