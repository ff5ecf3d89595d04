import { expect, test } from "vitest";
import { openAccess } from "../../../src/app/access.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL } from "../../../src/auth/roles.ts";
import { LoginRecords } from "../../../src/auth/tokens/login-records.ts";
import { usersOf } from "../../../src/auth/users.ts";
import type { Context } from "../../../src/http/route.ts";
import { MAX_USER_SOCKETS } from "../../../src/http/upgrade.ts";
import { Hub } from "../../../src/hub/hub.ts";
import { memoryRecords } from "../../../src/lib/data/live-records.ts";
import { MemoryPeer } from "../hub/memory-client.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

/** The routes of a server for its own user. */
function accessTo(hub: Hub, backend: MemorySessions) {
  const names = { serverUser: "me", isRoot: false, configuredUser: undefined, identity: undefined };
  const users = usersOf({ ...names, allowUsers: [], adminUsers: [], roles: [] });
  const now = Date.now;
  const loginRecords = new LoginRecords({ records: memoryRecords(now), now, log: { warn: () => {} } });
  const noAuth = { enableSSHKeys: false, disallowUserPassword: false, noAuth: false, proxyAuth: false };
  return openAccess({
    config: {
      maxUploadBytes: 0,
      rateLimits: { apiCalls: undefined, sessions: undefined },
      recording: { maxBytes: 1, withInput: false, keep: undefined },
    },
    ...{ backend, hub, cordon: undefined, version: "1.0.0" },
    gate: { users, loginRecords, shares: undefined, config: noAuth },
  });
}

test("event streams that begin at the same moment do not exceed the connections of a user", async () => {
  const backend = new MemorySessions();
  await using hub = new Hub({ backend, now: () => performance.now() });
  const who = { user: "me", kind: "login", address: undefined } as const;
  for (let count = 1; count < MAX_USER_SOCKETS; count++) hub.connect(new MemoryPeer(), who);
  using access = accessTo(hub, backend);
  const { serverEvents } = access.routes(async () => ({ url: "http://localhost", isPublic: false }));
  const principal: Principal = { user: "me", rights: ALL, method: "token" };
  const client = new AbortController();
  const context: Context = {
    ...{ principal, identified: async () => principal, signal: client.signal },
    ...{ address: undefined, range: undefined, accepts: () => false, lastEventId: undefined },
  };
  const input = { params: undefined, query: {}, body: undefined };
  const streams = [await serverEvents?.(input, context), await serverEvents?.(input, context)];
  const begun = await Promise.allSettled(
    streams.map(async (stream) => {
      if (stream === undefined || !(Symbol.asyncIterator in stream.body)) throw new Error("no event stream");
      return await stream.body[Symbol.asyncIterator]().next();
    }),
  );
  expect(begun).toEqual([
    { status: "fulfilled", value: { done: false, value: expect.anything() } },
    { status: "rejected", reason: expect.objectContaining({ code: "rate_limited" }) },
  ]);
  client.abort();
});
