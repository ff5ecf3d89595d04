// A login at a provider lasts as long as the provider renews it, and survives outages of the provider.
import { once } from "node:events";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { ADA } from "../harness/login-provider.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { proxiedServer, proxyOrigin } from "../harness/proxied-server.ts";
import { NAVIGATION } from "../harness/tls-client.ts";
import { OidcStage, useOidcStage } from "./oidc-stage.ts";

/** In seconds; long enough for a login, short enough to wait for its end. */
const SHORT = 3;
const stage = useOidcStage({ accessTokenLifetime: SHORT });

/** The number of renewals at the provider, of a user or of all. */
function renewals(sub = ""): number {
  return stage().provider.grants.filter((grant) => grant.startsWith(`refresh_token ${sub}`)).length;
}

/** Lets time pass: that many renewals of ADA, who has an open connection. */
async function pass(count: number): Promise<void> {
  const before = renewals("1");
  await eventually(async () => (renewals("1") >= before + count ? true : undefined), "renewals");
}

function tools() {
  const at = stage();
  return {
    ...{ provider: at.provider, origin: at.origin, authority: at.authority },
    browser: () => at.browser(),
  };
}

test("a login lasts as long as the provider renews it", async () => {
  const { browser, origin } = tools();
  const client = browser();
  await stage().logIn(client);
  const socket = await client.webSocket(origin, { origin });
  await pass(3);
  expect([socket.readyState, await stage().isLoggedIn(client)]).toEqual([socket.OPEN, true]);
  socket.terminate();
});

test("a login that the provider does not renew ends, with its open connections", async () => {
  const { browser, origin, provider } = tools();
  const client = browser();
  await stage().logIn(client);
  const socket = await client.webSocket(origin, { origin });
  provider.gone.add("1");
  const [code] = await withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  expect(code).toBe(1006);
  expect(await stage().isLoggedIn(client)).toBe(false);
  await expect(client.webSocket(origin, { origin })).rejects.toThrow("status 401");
});

test("a renewal for somebody else ends the login", async () => {
  const { browser, origin, provider } = tools();
  const client = browser();
  await stage().logIn(client);
  const socket = await client.webSocket(origin, { origin });
  provider.bend = (claims) => ({ ...claims, sub: "2" });
  await withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  expect(await stage().isLoggedIn(client)).toBe(false);
});

test.each<[string, Readonly<Record<string, unknown>>]>([
  ["an email that was given to somebody else", { email: "grace@example.com" }],
  ["an email that is not verified any more", { email_verified: false }],
  ["another tenant", { hd: "example.org" }],
])("a login is over when the provider renews it with %s", async (_, change) => {
  await using strict = await OidcStage.open({
    accessTokenLifetime: SHORT,
    users: () => ["--allow-user", "ada@example.com", "--proxy-oidc-require", "hd=example.com"],
  });
  const person = { ...ADA, hd: "example.com" };
  strict.provider.person = person;
  const client = strict.browser();
  await strict.logIn(client);
  const socket = await client.webSocket(strict.origin, { origin: strict.origin });
  const closed = withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  strict.provider.change({ ...person, ...change });
  await closed;
  expect(await strict.isLoggedIn(client)).toBe(false);
});

test("losing a group at the provider removes its role, and closes open connections", async () => {
  const roles = ["--proxy-oidc-groups", "groups", "--role", "%ops=operator", "--allow-user", "*"];
  await using grouped = await OidcStage.open({ accessTokenLifetime: SHORT, users: () => roles });
  const person = { ...ADA, groups: ["ops", "others"] };
  grouped.provider.person = person;
  const client = grouped.browser();
  await grouped.logIn(client);
  const socket = await client.webSocket(grouped.origin, { origin: grouped.origin });
  const metrics = async (): Promise<unknown> => (await client.ask(`${grouped.origin}/metrics`)).status;
  expect(await metrics()).toBe(200);
  const closed = withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  grouped.provider.change({ ...person, groups: ["others"] });
  await closed;
  expect(await metrics()).toBe(403);
  expect(await grouped.isLoggedIn(client)).toBe(true);
});

test("an unused login is not renewed until it is used", async () => {
  const { browser, origin, provider } = tools();
  const clock = browser();
  await stage().logIn(clock);
  const socket = await clock.webSocket(origin, { origin });
  provider.person = { sub: "idle" };
  const client = browser();
  await stage().logIn(client);
  // At least once, because it was used until a moment ago.
  const last = await eventually(async () => {
    const before = renewals("idle");
    await pass(3);
    return before > 0 && renewals("idle") === before ? before : undefined;
  }, "a time without a renewal");
  expect(await stage().isLoggedIn(client)).toBe(true);
  expect(renewals("idle")).toBe(last + 1);
  socket.terminate();
});

test("while the provider is down a renewed login continues, and then ends", async () => {
  // Long enough for a late check of the login.
  await using longer = await OidcStage.open({ accessTokenLifetime: 5 * SHORT });
  const client = longer.browser();
  await longer.logIn(client);
  const socket = await client.webSocket(longer.origin, { origin: longer.origin });
  await longer.provider.down();
  expect(await longer.isLoggedIn(client)).toBe(true);
  await withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  expect(await longer.isLoggedIn(client)).toBe(false);
});

test("a provider that is down at the start is used once it is up, and users are informed meanwhile", async () => {
  await using late = await OidcStage.open({ isDown: true });
  const client = late.browser();
  const visit = () => client.ask(`${late.origin}/`, { headers: NAVIGATION });
  const page = await visit();
  expect([page.status, page.headers["retry-after"]]).toEqual([503, "5"]);
  expect(page.text).toContain("The login does not work just now");
  expect((await client.ask(`${late.origin}/api/sessions`)).json.code).toBe("unauthorized");
  await late.provider.up();
  await eventually(
    async () => ((await visit()).status === 303 ? true : undefined),
    "the way to the provider",
  );
  expect((await late.logIn(client)).status).toBe(200);
  expect(late.server.log.match(/login provider out of reach/g)?.length).toBe(1);
});

test("a provider with a wrong issuer is rejected", async () => {
  const { browser, authority, provider } = tools();
  const origin = await proxyOrigin();
  const other = provider.issuer.replace("127.0.0.1", "localhost");
  const args = ["--proxy-oidc-issuer", other, "--proxy-oidc-client-id", "ttyhq"];
  await using server = await proxiedServer({ origin, authority, args });
  expect((await browser().ask(`${origin}/`, { headers: NAVIGATION })).status).toBe(503);
  await server.logged("login provider out of reach");
});

test("without a refresh token the provider is not asked again, and the login stays", async () => {
  await using quiet = await OidcStage.open({ accessTokenLifetime: 1, refreshes: false });
  const client = quiet.browser();
  await quiet.logIn(client);
  const socket = await client.webSocket(quiet.origin, { origin: quiet.origin });
  const clock = stage().browser();
  await stage().logIn(clock);
  const open = await clock.webSocket(stage().origin, { origin: stage().origin });
  await pass(1);
  expect([socket.readyState, await quiet.isLoggedIn(client)]).toEqual([socket.OPEN, true]);
  expect(quiet.provider.grants).toEqual(["authorization_code 1"]);
  for (const each of [socket, open]) each.terminate();
});

test("a scope that asks for refresh tokens makes the provider ask for consent", async () => {
  const scope = "openid email offline_access";
  await using strict = await OidcStage.open({ refreshes: false, args: () => ["--proxy-oidc-scope", scope] });
  const start = await strict.browser().ask(`${strict.origin}/`, { headers: NAVIGATION });
  const { searchParams } = new URL(String(start.headers.location));
  expect([searchParams.get("scope"), searchParams.get("prompt")]).toEqual([scope, "consent"]);
  expect((await strict.logIn(strict.browser())).status).toBe(200);
});
