// Who may join an HQ and read its remotes: login, table of endpoints and router together.
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { Accounts } from "../../src/auth/accounts/accounts.ts";
import { createGate, type GateOptions } from "../../src/auth/gate.ts";
import { openFactorFile } from "../../src/auth/passkey/factor-store.ts";
import { memoryRecords } from "../../src/auth/tokens/file-records.ts";
import { connectionOf } from "../../src/http/client-address.ts";
import { createRateLimit } from "../../src/http/limits/rate-limit.ts";
import { Listener } from "../../src/http/listener.ts";
import type { Routes } from "../../src/http/route.ts";
import { createRouter } from "../../src/http/router.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createLogger } from "../../src/log.ts";
import { ask } from "./harness/http.ts";

const remote = {
  ...{ id: "a", name: "a", url: "http://a", sessionIds: [] },
  ...{ registeredAt: "2026-01-01T00:00:00.000Z", lastHeartbeat: "2026-01-01T00:00:00.000Z" },
};
const proxied = async () => ({ type: "text/plain", body: Readable.from([]) });
const routes: Routes = {
  listRemotes: async () => [remote],
  registerRemote: async () => ({ success: true, remote }),
  removeRemote: async () => ({ success: true }),
  refreshSessions: async () => ({ success: true, sessionCount: 0 }),
  ...{ proxyGet: proxied, proxyPost: proxied, proxyPatch: proxied, proxyDelete: proxied },
};
const registration = { id: "a", name: "a", url: "http://a", token: "t" };
const REGISTRY = [
  { method: "GET", path: "/api/remotes" },
  { method: "POST", path: "/api/remotes/register", body: registration },
  { method: "POST", path: "/api/remotes/a/refresh-sessions", body: {} },
  { method: "DELETE", path: "/api/remotes/a" },
];
const PROXY = ["GET", "POST", "PATCH", "DELETE"].map((method) => ({
  method,
  path: "/api/remotes/a/proxy/sessions",
}));
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` });

async function hq(options: Partial<GateOptions>) {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-registry-"));
  stack.defer(() => directory.remove());
  const log = createLogger({ level: "silent", destination: { write: () => true } });
  const gate = await createGate({
    config: {
      ...{ mode: "login", password: undefined, sshKeys: false, loginLink: false, roles: [] },
      ...{ allowUsers: [], adminUsers: [], identity: undefined, localBypass: undefined },
      ...{ requireSecondFactor: false, idleTimeoutMs: undefined },
    },
    openFactors: () => openFactorFile(join(directory.path, "passkeys.json")),
    proxyProof: Secret.fromText("p"),
    ...{ serverUser: "me", serverHome: "/", isRoot: false, tokenSecret: undefined, log },
    secretFile: join(directory.path, "secret"),
    openRecords: async () => memoryRecords(() => Date.now()),
    accounts: stack.use(new Accounts(() => performance.now())),
    ...options,
  });
  const noLimit = createRateLimit(undefined);
  const { authenticate, whenOver } = gate;
  const request = createRouter({
    ...{ routes, authenticate, whenOver, clientOf: connectionOf, log },
    policy: { allowedOrigins: [], isLoopbackHostOnly: false },
    rateLimits: { api: noLimit, sessions: noLimit },
  });
  const upgrade = { handle: () => {}, close: () => {} };
  const listener = stack.use(await Listener.open({ host: "127.0.0.1", port: 0 }, { request, upgrade }));
  const owned = stack.move();
  return {
    statuses: (calls: readonly (typeof REGISTRY)[number][], headers: Record<string, string> = {}) =>
      Promise.all(
        calls.map(async (each) => {
          const { status, headers: answered } = await ask(`http://127.0.0.1:${listener.port}`, each.path, {
            ...each,
            headers,
          });
          if (status === 401) expect(answered["www-authenticate"]).toBe('Bearer realm="ttyhq"');
          return status;
        }),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const all = (status: number) => [status, status, status, status];

test("the credentials of an HQ open its registry and its remotes, and nothing else does", async () => {
  const hqCredentials = { username: "fleet", password: Secret.fromText("right") };
  await using server = await hq({ hqCredentials });
  for (const calls of [REGISTRY, PROXY]) {
    expect(await server.statuses(calls, basic("fleet:right"))).toEqual(all(200));
    expect(await server.statuses(calls)).toEqual(all(401));
  }
  expect(await server.statuses(REGISTRY, basic("fleet:wrong"))).toEqual(all(401));
});

test("an HQ without credentials has an open registry, and closed remotes", async () => {
  await using server = await hq({ openRegistration: true });
  for (const headers of [{}, basic("any:thing")]) {
    expect(await server.statuses(REGISTRY, headers)).toEqual(all(200));
    expect(await server.statuses(PROXY, headers)).toEqual(all(401));
  }
});

test("a foreign page cannot join a machine to an HQ without credentials", async () => {
  await using server = await hq({ openRegistration: true });
  const [list, ...changes] = await server.statuses(REGISTRY, { origin: "https://evil.example" });
  expect([list, ...changes]).toEqual([200, 403, 403, 403]);
});
