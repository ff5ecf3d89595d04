// The state of one remote as this HQ knows it, and the effect of each event on it (contract 6.1 to 6.3, 6.8). Pure; the
// registry keeps one state for each name and carries out the actions.
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  DOWN_REMOTE_MEMORY_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  RECOVERY_PROBE_TIMEOUT_MS,
} from "../protocol/limits.ts";
import { RegisterRemote } from "../protocol/schemas/remote.ts";

/** A registration. Its bearer token opens the remote and is never shown. Times are ISO 8601. */
export const Remote = RegisterRemote.extend({
  registeredAt: z.string(),
  /** Of the latest registration. Older versions store none: theirs is the last sign of life. */
  refreshedAt: z.string().optional(),
  lastHeartbeat: z.string(),
  /** It registered with a credential for its key, so it leaves when that key is revoked. */
  registeredByKey: z.boolean().optional(),
});
export type Remote = z.infer<typeof Remote>;

/** An entry of the store: a registration, or since when a remote is down. */
export const RegistryEntry = z.union([
  z.object({ remote: Remote }),
  z.object({ remote: z.undefined().optional(), downSince: z.string() }),
]);
export type RegistryEntry = z.infer<typeof RegistryEntry>;

/** `version`: the text that the store has for the name; `undefined`: none. */
type Stored = { readonly version: string | undefined };
/** `isStored`: the store has this registration. Otherwise it is in memory only, and repeated when the store is read. */
type Registered = Stored & { readonly remote: Remote; readonly isStored: boolean };

export type RegisteredState = Registered &
  ({ readonly status: "up" | "suspect" } | { readonly status: "lost"; readonly since: string | undefined });

/**
 * - `up`: registered.
 * - `suspect`: registered, but it did not answer the last health check. Any sign of life makes it `up` again.
 * - `lost`: registered, but not in the store any more, so it is checked. `since`: the store says that it was removed then
 *   because it did not answer.
 * - `down`: removed because it did not answer. Its sessions may come back. This HQ checks it if it has suspected it itself
 *   and therefore knows `remote`.
 * - `left`: not registered.
 */
export type RemoteState =
  | RegisteredState
  | (Stored & {
      readonly status: "down";
      readonly since: string;
      readonly remote: Remote | undefined;
      readonly isBeingChecked: boolean;
    })
  | (Stored & { readonly status: "left"; readonly remote?: undefined });

/**
 * `stored`: the entry of the name in the store has changed. `read`: the store was read as a whole. `entry` is undefined if
 * there is none, or none that can be read.
 */
type StoreEvent = Stored & { readonly type: "stored" | "read"; readonly entry: RegistryEntry | undefined };

export type RemoteEvent =
  | StoreEvent
  /** It registered, and the store did not take it. */
  | { readonly type: "registered"; readonly remote: Remote }
  /** It was removed, and the store could not be told; with `since` it did not answer. */
  | { readonly type: "removed"; readonly since: string | undefined }
  | { readonly type: "answered"; readonly id: string; readonly at: string }
  /** `asked`: the remote as it was when the check began. */
  | { readonly type: "unanswered"; readonly asked: Remote }
  /** This HQ may remove it if it is still suspect. */
  | { readonly type: "expired"; readonly at: string }
  | { readonly type: "tick"; readonly at: string }
  /** Too many others went down after it. */
  | { readonly type: "forgotten" };

export type RemoteAction =
  | { readonly type: "joined" | "refreshed" | "left"; readonly remote: Remote }
  /** Ends in the event `answered` or `unanswered`. */
  | { readonly type: "check"; readonly remote: Remote; readonly timeoutMs: number }
  /** To store it again, unless `holder`, which the store has under this name, answers. */
  | { readonly type: "restore"; readonly remote: Remote; readonly holder: Remote | undefined }
  | { readonly type: "remove"; readonly remote: Remote; readonly since: string }
  /** To remove the entry of a remote that is down. */
  | { readonly type: "forget"; readonly version: string };

type Outcome = { readonly state: RemoteState; readonly actions: readonly RemoteAction[] };

export const LEFT: RemoteState = { status: "left", version: undefined };

export function transition(state: RemoteState, event: RemoteEvent): Outcome {
  switch (event.type) {
    case "stored":
      return stored(state, event);
    case "read":
      return read(state, event);
    case "registered":
      return registered(state, { remote: event.remote, version: state.version, isStored: false });
    case "removed":
      return isRegistered(state) ? removed(state, event.since) : outcome(state);
    case "answered":
      return answered(state, event.id, event.at);
    case "unanswered":
      return unanswered(state, event.asked);
    case "expired":
      return expired(state, event.at);
    case "tick":
      return tick(state, event.at);
    case "forgotten":
      return isRegistered(state) ? outcome(state) : forgotten(state);
  }
}

/** Whether the remote is listed, and its sessions are. */
export function isRegistered(state: RemoteState | undefined): state is RegisteredState {
  return state !== undefined && state.status !== "down" && state.status !== "left";
}

/** Whether the remote registered after the other registration of it was made. A sign of life makes neither newer. */
export function isNewer(remote: Remote, other: Remote): boolean {
  return registrationTime(remote) > registrationTime(other);
}

function registrationTime({ refreshedAt, lastHeartbeat }: Remote): string {
  return refreshedAt ?? lastHeartbeat;
}

/** All but the times. */
const LASTING = ["id", "name", "url", "token", "cordoned", "labels", "registeredByKey"] as const;

/** Whether only the times of the remote may differ. */
export function isUnchanged(remote: Remote | undefined, before: Remote): boolean {
  return LASTING.every((field) => isDeepStrictEqual(remote?.[field], before[field]));
}

/** The time is compared in both directions, since the clock may have been set back. */
export function isDownLately(since: string, now: string): boolean {
  return Math.abs(Date.parse(now) - Date.parse(since)) < DOWN_REMOTE_MEMORY_MS;
}

function outcome(state: RemoteState, ...actions: readonly RemoteAction[]): Outcome {
  return { state, actions };
}

function down(since: string, version: string | undefined, remote?: Remote): RemoteState {
  return { status: "down", since, version, remote, isBeingChecked: false };
}

function registered(state: RemoteState, next: Registered): Outcome {
  const { remote } = next;
  const up: RemoteState = { status: "up", ...next };
  if (!isRegistered(state)) return outcome(up, { type: "joined", remote });
  if (state.remote.id === remote.id) return outcome(up, { type: "refreshed", remote });
  return outcome(up, { type: "left", remote: state.remote }, { type: "joined", remote });
}

function removed(state: RegisteredState, since: string | undefined): Outcome {
  const { remote, status, version } = state;
  const known = status === "up" ? undefined : remote;
  const next: RemoteState = since === undefined ? { status: "left", version } : down(since, version, known);
  return outcome(next, { type: "left", remote });
}

/** A registration that the store has never had outlasts what the store tells of others. */
function stored(state: RemoteState, { entry, version }: StoreEvent): Outcome {
  if (entry?.remote !== undefined)
    return registered(state, { remote: entry.remote, version, isStored: true });
  const now = { ...state, version };
  if (isRegistered(now)) return now.isStored ? removed(now, entry?.downSince) : outcome(now);
  if (entry === undefined) return outcome({ status: "left", version });
  return outcome(down(entry.downSince, version, now.status === "down" ? now.remote : undefined));
}

/** Registrations that only this HQ knows win over older ones; those that the store has lost are checked. */
function read(state: RemoteState, event: StoreEvent): Outcome {
  const { entry, version } = event;
  if (!isRegistered(state)) return stored(state, event);
  const { remote, isStored, status } = state;
  const kept = entry?.remote;
  const isOwn = status === "up" && !isStored;
  if (isOwn && (kept?.id !== remote.id || !isNewer(kept, remote))) {
    const holder = kept?.id === remote.id ? undefined : kept;
    return outcome({ ...state, version }, { type: "restore", remote, holder });
  }
  if (kept !== undefined) {
    const up = { status: "up", remote, version, isStored: true } as const;
    return isUnchanged(remote, kept) ? outcome(up) : stored(state, event);
  }
  const since = entry?.downSince;
  const lost = { status: "lost", remote, version, isStored: false, since } as const;
  return outcome(lost, { type: "check", remote, timeoutMs: HEALTH_CHECK_TIMEOUT_MS });
}

function answered(state: RemoteState, id: string, at: string): Outcome {
  if (state.status === "left" || state.remote?.id !== id) return outcome(state);
  const remote = { ...state.remote, lastHeartbeat: at };
  const restore = { type: "restore", remote, holder: undefined } as const;
  if (state.status === "down") return outcome({ ...state, isBeingChecked: false }, restore);
  const { version, isStored } = state;
  const up = { status: "up", remote, version, isStored } as const;
  return state.status === "lost" ? outcome(up, restore) : outcome(up);
}

/** A remote that was heard of since the check began is not suspect. */
function unanswered(state: RemoteState, asked: Remote): Outcome {
  if (state.status === "down") return outcome({ ...state, isBeingChecked: false });
  if (!isRegistered(state) || state.remote.id !== asked.id) return outcome(state);
  const { remote, version, isStored } = state;
  if (remote.lastHeartbeat !== asked.lastHeartbeat) return outcome(state);
  if (state.status === "lost") return removed(state, state.since);
  return outcome({ status: "suspect", remote, version, isStored });
}

function expired(state: RemoteState, since: string): Outcome {
  if (state.status !== "suspect") return outcome(state);
  return outcome(state, { type: "remove", remote: state.remote, since });
}

function tick(state: RemoteState, at: string): Outcome {
  if (state.status !== "down") return outcome(state);
  if (!isDownLately(state.since, at)) return forgotten(state);
  const { remote } = state;
  if (remote === undefined || state.isBeingChecked) return outcome(state);
  const check = { type: "check", remote, timeoutMs: RECOVERY_PROBE_TIMEOUT_MS } as const;
  return outcome({ ...state, isBeingChecked: true }, check);
}

function forgotten(state: RemoteState): Outcome {
  const { version } = state;
  return outcome(
    { status: "left", version },
    ...(version === undefined ? [] : [{ type: "forget", version } as const]),
  );
}
