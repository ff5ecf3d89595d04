import type { Gate } from "../../auth/gate.ts";
import type { Hub } from "../../hub/hub.ts";
import {
  MAX_API_TOKENS,
  MAX_API_TOKENS_PER_USER,
  MAX_LOGINS,
  MAX_LOGINS_PER_USER,
  MAX_SHARES,
  MAX_SHARES_OF_USER,
} from "../../protocol/limits.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Usage, UserUsage } from "../../protocol/schemas/usage.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Routes } from "../route.ts";
import { MAX_USER_SOCKETS } from "../upgrade.ts";

const LIMITS: Usage["limits"] = {
  connections: { perUser: MAX_USER_SOCKETS },
  shares: { perUser: MAX_SHARES_OF_USER, inTotal: MAX_SHARES },
  logins: { perUser: MAX_LOGINS_PER_USER, inTotal: MAX_LOGINS },
  apiTokens: { perUser: MAX_API_TOKENS_PER_USER, inTotal: MAX_API_TOKENS },
};

type UsageParts = {
  /** At an HQ the sessions of all machines. */
  readonly backend: Pick<SessionBackend, "list">;
  readonly hub: Pick<Hub, "clients">;
  readonly gate: {
    readonly shares: Pick<NonNullable<Gate["shares"]>, "all"> | undefined;
    readonly loginRecords: Pick<Gate["loginRecords"], "list" | "tokens">;
    readonly users: Pick<Gate["users"], "own">;
    readonly config: Pick<Gate["config"], "noAuth">;
  };
  readonly config: {
    readonly rateLimits: Usage["perMinute"];
    readonly recording: { readonly maxBytes: number };
  };
};

/** Who uses how much of what this server limits for each user. */
export function usageRoutes({ backend, hub, gate, config }: UsageParts): Routes {
  const { rateLimits, recording } = config;
  return {
    readUsage: async () => ({
      users: usersOf({ hub, gate, sessions: await backend.list() }),
      limits: gate.config.noAuth ? {} : LIMITS,
      perMinute: { apiCalls: rateLimits.apiCalls, sessions: rateLimits.sessions },
      maxRecordingBytes: recording.maxBytes,
    }),
  };
}

function usersOf({
  sessions,
  hub,
  gate,
}: Pick<UsageParts, "hub" | "gate"> & { readonly sessions: readonly SessionRecord[] }): UserUsage[] {
  const { shares, loginRecords, users } = gate;
  const all = new Map<string, UserUsage>();
  const add = (user: string, name: Exclude<keyof UserUsage, "user">, amount = 1): void => {
    const usage = all.get(user) ?? nothing(user);
    // Remotes of an HQ choose the numbers in their records.
    const sum = Math.min(Number.MAX_SAFE_INTEGER, usage[name] + Math.max(0, amount));
    all.set(user, { ...usage, [name]: sum });
  };
  for (const { owner = users.own, status, outputBytes } of sessions) {
    add(owner, status === "exited" ? "ended" : "running");
    add(owner, "outputBytes", outputBytes);
  }
  // The guests of a link are limited together, as if the link were a user.
  for (const { identity } of hub.clients) {
    const { user, kind } = identity;
    if (kind !== "guest" && kind !== "hq") add(user, "connections");
  }
  for (const { createdBy } of shares?.all ?? []) add(createdBy, "shares");
  for (const { user } of loginRecords.list()) add(user, "logins");
  for (const { user } of loginRecords.tokens()) add(user, "apiTokens");
  return [...all.values()].toSorted((one, other) => one.user.localeCompare(other.user));
}

function nothing(user: string): UserUsage {
  const none = { running: 0, ended: 0, outputBytes: 0 };
  return { user, ...none, connections: 0, shares: 0, logins: 0, apiTokens: 0 };
}
