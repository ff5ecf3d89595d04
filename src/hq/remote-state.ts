// The state of one remote as this HQ knows it, and the effect of each event on it (contract 6.1 to 6.3, 6.8). Pure; the
// registry keeps one state for each name and carries out the actions.
import {
  DOWN_REMOTE_MEMORY_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  RECOVERY_PROBE_TIMEOUT_MS,
} from "../protocol/limits.ts";
import type { RegisterRemote } from "../protocol/schemas/remote.ts";

/** A registration. Its bearer token opens the remote and is never shown. Times are ISO 8601. */
export type Remote = RegisterRemote & {
  readonly registeredAt: string;
  readonly lastHeartbeat: string;
};

/** A registration with the store's version of it. Without a version it is in memory only. */
export type Registered = { readonly remote: Remote; readonly version: string | undefined };

/** A remote that was removed because it did not answer. `since` is ISO 8601. */
export type DownRemote = { readonly name: string; readonly since: string };

/**
 * - `up`: registered.
 * - `suspect`: registered, but it did not answer the last health check, or the store has lost it. Any sign of life makes it
 *   `up` again. `since`: the store says that it was removed then because it did not answer.
 * - `down`: removed because it did not answer. Its sessions may come back. This HQ checks it if it has suspected it itself
 *   and therefore knows `remote`.
 * - `left`: not registered.
 */
export type RemoteState =
  | (Registered & { readonly status: "up" })
  | (Registered & { readonly status: "suspect"; readonly reason: "no-answer" })
  | (Registered & {
      readonly status: "suspect";
      readonly reason: "not-stored";
      readonly since: string | undefined;
    })
  | {
      readonly status: "down";
      readonly since: string;
      readonly remote: Remote | undefined;
      readonly isBeingChecked: boolean;
    }
  | { readonly status: "left" };

export type RemoteEvent =
  /** It registered with this HQ or with another one of the same registry. */
  | (Registered & { readonly type: "registered" })
  /** The store was read as a whole and has it. */
  | (Registered & { readonly type: "fetched" })
  /** The store was read as a whole and does not have it. `since` as in DownRemote. */
  | { readonly type: "missing"; readonly since: string | undefined }
  | { readonly type: "answered"; readonly id: string; readonly at: string }
  /** `asked`: the remote as it was when the check began. */
  | { readonly type: "unanswered"; readonly asked: Remote }
  /** This HQ may remove it if it is still suspect. */
  | { readonly type: "expired"; readonly at: string }
  /** It is not in the store any more: it left or was deleted; with `since` it did not answer. */
  | { readonly type: "removed"; readonly id: string | undefined; readonly since: string | undefined }
  | { readonly type: "tick"; readonly at: string };

export type RemoteAction =
  | { readonly type: "joined" | "refreshed" | "left"; readonly remote: Remote }
  /** Ends in the event `answered` or `unanswered`. */
  | { readonly type: "check"; readonly remote: Remote; readonly timeoutMs: number }
  /** To put it back into the store unless the store has a newer registration. `answeredAt`: it answered after `remote`. */
  | { readonly type: "restore"; readonly remote: Remote; readonly answeredAt: string | undefined }
  | { readonly type: "remove"; readonly remote: Remote; readonly version: string };

type Outcome = { readonly state: RemoteState; readonly actions: readonly RemoteAction[] };

export const LEFT: RemoteState = { status: "left" };

export function transition(state: RemoteState, event: RemoteEvent): Outcome {
  switch (event.type) {
    case "registered":
      return registered(state, event);
    case "fetched":
      return isRegistered(state) && isUnchanged(state.remote, event.remote)
        ? outcome({ ...state, version: event.version })
        : registered(state, event);
    case "missing":
      return missing(state, event.since);
    case "answered":
      return answered(state, event.id, event.at);
    case "unanswered":
      return unanswered(state, event.asked);
    case "expired":
      return expired(state, event.at);
    case "removed":
      return removed(state, event);
    case "tick":
      return tick(state, event.at);
  }
}

/** `up` and `suspect`: the remote is listed, and its sessions are. */
export function isRegistered(
  state: RemoteState | undefined,
): state is Extract<RemoteState, { status: "up" | "suspect" }> {
  return state?.status === "up" || state?.status === "suspect";
}

/** Whether the remote is reached as before; only its times may differ. */
export function isUnchanged(remote: Remote | undefined, before: Remote): boolean {
  const isSame = remote?.id === before.id && remote.name === before.name;
  return isSame && remote.token === before.token && remote.url === before.url;
}

/** The time is compared in both directions, since the clock may have been set back. */
export function isDownLately(since: string, now: string): boolean {
  return Math.abs(Date.parse(now) - Date.parse(since)) < DOWN_REMOTE_MEMORY_MS;
}

function outcome(state: RemoteState, ...actions: readonly RemoteAction[]): Outcome {
  return { state, actions };
}

function down(since: string, remote?: Remote): RemoteState {
  return { status: "down", since, remote, isBeingChecked: false };
}

function registered(state: RemoteState, { remote, version }: Registered): Outcome {
  const next: RemoteState = { status: "up", remote, version };
  if (!isRegistered(state)) return outcome(next, { type: "joined", remote });
  if (state.remote.id === remote.id) return outcome(next, { type: "refreshed", remote });
  return outcome(next, { type: "left", remote: state.remote }, { type: "joined", remote });
}

/** A registration that the store has never had is news for it. Others are checked before they are given up. */
function missing(state: RemoteState, since: string | undefined): Outcome {
  if (!isRegistered(state)) {
    if (since === undefined) return outcome(state);
    return outcome(state.status === "down" ? { ...state, since } : down(since));
  }
  const { status, remote, version } = state;
  if (status === "up" && version === undefined) {
    return outcome(state, { type: "restore", remote, answeredAt: undefined });
  }
  const suspect = { status: "suspect", reason: "not-stored", remote, version: undefined, since } as const;
  return outcome(suspect, { type: "check", remote, timeoutMs: HEALTH_CHECK_TIMEOUT_MS });
}

function answered(state: RemoteState, id: string, at: string): Outcome {
  if (state.status === "left" || state.remote?.id !== id) return outcome(state);
  const { remote } = state;
  const restore = { type: "restore", remote, answeredAt: at } as const;
  if (state.status === "down") return outcome(down(state.since), restore);
  const up = { status: "up", remote: { ...remote, lastHeartbeat: at }, version: state.version } as const;
  const isLost = state.status === "suspect" && state.reason === "not-stored";
  return isLost ? outcome(up, restore) : outcome(up);
}

/** A remote that was heard of since the check began is not suspect. */
function unanswered(state: RemoteState, asked: Remote): Outcome {
  if (state.status === "down") return outcome({ ...state, isBeingChecked: false });
  if (!isRegistered(state) || state.remote.id !== asked.id) return outcome(state);
  const { remote, version } = state;
  if (remote.lastHeartbeat !== asked.lastHeartbeat) return outcome(state);
  if (state.status === "suspect" && state.reason === "not-stored") {
    return outcome(state.since === undefined ? LEFT : down(state.since, remote), { type: "left", remote });
  }
  return outcome({ status: "suspect", reason: "no-answer", remote, version });
}

function expired(state: RemoteState, at: string): Outcome {
  if (state.status !== "suspect" || state.reason !== "no-answer") return outcome(state);
  const { remote, version } = state;
  if (version !== undefined) return outcome(state, { type: "remove", remote, version });
  return outcome(down(at, remote), { type: "left", remote });
}

function removed(
  state: RemoteState,
  { id, since }: { id: string | undefined; since: string | undefined },
): Outcome {
  const known = state.status === "left" ? undefined : state.remote;
  if (isRegistered(state)) {
    const { remote, status } = state;
    if (remote.id !== id) return outcome(state);
    const next = since === undefined ? LEFT : down(since, status === "suspect" ? remote : undefined);
    return outcome(next, { type: "left", remote });
  }
  if (since !== undefined) return outcome(down(since, known));
  return outcome(known !== undefined && known.id === id ? LEFT : state);
}

function tick(state: RemoteState, at: string): Outcome {
  if (state.status !== "down") return outcome(state);
  if (!isDownLately(state.since, at)) return outcome(LEFT);
  const { remote } = state;
  if (remote === undefined || state.isBeingChecked) return outcome(state);
  const check = { type: "check", remote, timeoutMs: RECOVERY_PROBE_TIMEOUT_MS } as const;
  return outcome({ ...state, isBeingChecked: true }, check);
}
