// Chooses the remote of a new session that asks for labels.
import { ServiceError } from "../protocol/errors.ts";
import type { Labels } from "../protocol/schemas/remote.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { RemoteLabel } from "./remote-connection.ts";

export type Candidate = {
  readonly label: RemoteLabel;
  readonly records: ReadonlyMap<string, SessionRecord>;
  readonly starting: number;
  readonly sessions: { readonly isConnected: boolean };
};

/**
 * The remote with all these labels that runs the fewest sessions. Remotes without a connection come last: they may be down.
 * Throws `remote_not_found` if none has the labels, `cordoned` if all that have them are cordoned.
 */
export function placed<C extends Candidate>(remotes: readonly C[], labels: Labels): C {
  const wanted = Object.entries(labels);
  const matching = remotes.filter(({ label }) =>
    wanted.every(([key, value]) => label.labels?.[key] === value),
  );
  const [best] = matching
    .filter(({ label }) => label.cordoned !== true)
    .map((remote) => ({ remote, isAway: !remote.sessions.isConnected, load: loadOf(remote) }))
    .sort((one, other) => Number(one.isAway) - Number(other.isAway) || one.load - other.load);
  if (best !== undefined) return best.remote;
  const names = wanted.map(textOf).join(", ");
  if (matching.length > 0) {
    throw new ServiceError("cordoned", `every machine with the labels ${names} is cordoned: choose others`);
  }
  const known = new Set(remotes.flatMap(({ label }) => Object.entries(label.labels ?? {}).map(textOf)));
  const there = known.size === 0 ? "no machine has labels" : `there are ${[...known].sort().join(", ")}`;
  throw new ServiceError("remote_not_found", `no machine has the labels ${names}; ${there}`);
}

function loadOf({ records, starting }: Candidate): number {
  return starting + [...records.values()].filter(({ status }) => status !== "exited").length;
}

function textOf([key, value]: readonly [string, string]): string {
  return `${key}=${value}`;
}
