import {
  CLIENT_PING_INTERVAL_MS,
  CLIENT_PROBE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  RECONNECT_TRY_MS,
  STABLE_LINK_MS,
} from "../limits.ts";

/** How long a connection waits for what, in milliseconds. */
export type ConnectionTimes = {
  readonly connectMs: number;
  /** In place of `connectMs` for the first try while an announced restart is awaited. */
  readonly tryMs: number;
  readonly pingMs: number;
  readonly probeMs: number;
  readonly stableMs: number;
};

export const CONNECTION_TIMES: ConnectionTimes = {
  connectMs: CONNECT_TIMEOUT_MS,
  tryMs: RECONNECT_TRY_MS,
  pingMs: CLIENT_PING_INTERVAL_MS,
  probeMs: CLIENT_PROBE_TIMEOUT_MS,
  stableMs: STABLE_LINK_MS,
};
