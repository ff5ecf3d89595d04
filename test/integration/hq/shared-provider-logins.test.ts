// Logins at an OpenID Connect provider through two HQs that share their registry, alternating between them.
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { Balancer } from "../harness/balancer.ts";
import { CLIENT_SECRET, LoginProvider, logInAt } from "../harness/login-provider.ts";
import { OpensslAuthority } from "../harness/openssl-authority.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { NO_LIMITS, TestServer } from "../harness/test-server.ts";
import { TlsClient } from "../harness/tls-client.ts";

/** The lifetime of the provider's tokens, in seconds. */
const SHORT = 3;
const SECRETS = { TTYHQ_JWT_SECRET: TOKEN_SECRET, TTYHQ_PROXY_OIDC_CLIENT_SECRET: CLIENT_SECRET };
const ENV = { ...SECRETS, TTYHQ_USERNAME: USERNAME, TTYHQ_PASSWORD: PASSWORD };

let owned: AsyncDisposableStack;
let authority: OpensslAuthority;
let provider: LoginProvider;
let origin: string;
let redis: RedisServer;
const servers: TestServer[] = [];

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  authority = stack.use(await OpensslAuthority.make());
  redis = stack.use(await RedisServer.start());
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-shared-")));
  const registryUrl = join(folder.path, "registry-url");
  await writeFile(registryUrl, redis.url);
  const proxies = [await freePort(), await freePort()];
  const balancer = stack.use(
    await Balancer.open(proxies.map((port) => ({ url: `https://localhost:${port}` }))),
  );
  origin = `https://localhost:${new URL(balancer.url).port}`;
  // A refresh token that is used twice ends the login.
  const configuration = { rotateRefreshToken: true };
  const options = { origins: [origin], accessTokenLifetime: SHORT, configuration };
  provider = stack.use(await LoginProvider.start(options));
  const { certFile, keyFile } = await authority.issue({ subject: "/CN=localhost", names: "DNS:localhost" });
  const tls = ["--tls-cert", certFile, "--tls-key", keyFile];
  const hq = ["--hq", "--registry-url-file", registryUrl, "--allow-user", "*", ...NO_LIMITS];
  for (const port of proxies) {
    const proxy = ["--enable-proxy-serve", "--proxy-listen", `127.0.0.1:${port}`, "--proxy-url", origin];
    const args = [...hq, ...tls, ...proxy, ...provider.args];
    servers.push(stack.use(await TestServer.start({ args, env: ENV })));
  }
  owned = stack.move();
});
afterAll(() => owned[Symbol.asyncDispose]());

async function loggedIn(): Promise<TlsClient> {
  const client = new TlsClient({ ca: authority.cert });
  await logInAt(client, `${origin}/`);
  return client;
}

/** For enough requests to reach both HQs twice. */
async function statuses(client: TlsClient): Promise<readonly number[]> {
  const all: number[] = [];
  for (let turn = 0; turn < 4; turn++) all.push((await client.ask(`${origin}/api/sessions`)).status);
  return all;
}

/** One at each HQ. */
async function sockets(client: TlsClient): Promise<readonly WebSocket[]> {
  return [await client.webSocket(origin, { origin }), await client.webSocket(origin, { origin })];
}

test("a login can begin at one HQ and complete at the other, is valid at both, and ends at both", async () => {
  const client = await loggedIn();
  expect(await statuses(client)).toEqual([200, 200, 200, 200]);
  const closed = (await sockets(client)).map((socket) => once(socket, "close"));
  const { headers } = await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers: { origin } });
  expect(String(headers.location)).toContain(provider.issuer);
  await withDeadline(Promise.all(closed), PATIENCE_MS, "the close");
  expect(await statuses(client)).toEqual([401, 401, 401, 401]);
});

test("one HQ at a time renews a login, so that no refresh token is used twice", async () => {
  const client = await loggedIn();
  const open = await sockets(client);
  const renewals = (): number => provider.grants.filter((grant) => grant.startsWith("refresh_token")).length;
  const before = renewals();
  await eventually(async () => renewals() >= before + 3 || undefined, "renewals");
  expect(await statuses(client)).toEqual([200, 200, 200, 200]);
  expect(open.map((socket) => socket.readyState)).toEqual(open.map((socket) => socket.OPEN));
  provider.gone.add("1");
  const closed = open.map((socket) => once(socket, "close"));
  await withDeadline(Promise.all(closed), PATIENCE_MS, "the close");
  expect(await statuses(client)).toEqual([401, 401, 401, 401]);
});

test("a logout that the other HQ cannot hear of yet is in the audit log as failed", async () => {
  provider.gone.clear();
  // Without Redis both HQs would renew the login with one refresh token, which ends it.
  provider.accessTokenLifetime = 3_600;
  const client = await loggedIn();
  // Both HQs know the login.
  expect(await statuses(client)).toEqual([200, 200, 200, 200]);
  await redis.kill();
  const asked = { method: "POST", headers: { origin } } as const;
  const { status, json } = await client.ask(`${origin}/.proxy/logout`, asked);
  expect([status, json.code]).toEqual([503, "registry_unavailable"]);
  const failed = await eventually(async () => {
    const logs = await Promise.all(servers.map(({ controlDir }) => new AuditLog(controlDir).wholeLines()));
    return logs.flat().find(({ action, result }) => action === "logout" && result === "failed");
  }, "the logout in the audit log");
  expect(failed).toMatchObject({ method: "oidc", user: expect.any(String), address: "127.0.0.1" });
});
