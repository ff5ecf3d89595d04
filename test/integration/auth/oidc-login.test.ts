// Logging in at a real OpenID Connect provider through the reverse proxy, and out again (contract 5.9).
import { expect, test } from "vitest";
import { NAVIGATION, TlsClient } from "../harness/tls-client.ts";
import { LOGIN_COOKIE, useOidcStage } from "./oidc-stage.ts";

const stage = useOidcStage({ args: ({ certFile }) => ["--proxy-client-ca", certFile] });
const tools = () => stage().tools;

test("an opened page leads to the provider and back, with the provider's user", async () => {
  const { provider, origin, browser } = tools();
  const client = browser();
  const start = await client.ask(`${origin}/some/page?a=b`, { headers: NAVIGATION });
  const to = new URL(String(start.headers.location));
  expect([start.status, to.origin]).toEqual([303, provider.issuer]);
  expect(Object.fromEntries(to.searchParams)).toMatchObject({
    ...{ client_id: "ttyhq", response_type: "code", scope: "openid profile email" },
    ...{ code_challenge_method: "S256", redirect_uri: `${origin}/.proxy/callback` },
    ...{ state: expect.stringMatching(/^[\w-]{43}$/), nonce: expect.stringMatching(/^.{43}$/) },
  });
  const page = await stage().logIn(client, "/some/page?a=b");
  expect(page.url).toBe(`${origin}/some/page?a=b`);
  const config = await client.ask(`${origin}/api/auth/config`);
  expect(config.json).toMatchObject({
    ...{ proxyAuth: true, user: "ada@example.com", noAuth: false, logoutPath: "/.proxy/logout" },
  });
  const socket = await client.webSocket(origin, { origin });
  socket.close();
});

test("the page itself is served to who is logged in", async () => {
  const { origin, browser } = tools();
  const client = browser();
  const page = await stage().logIn(client);
  expect([page.url, page.status]).toEqual([`${origin}/`, 200]);
  expect(page.headers["content-type"]).toContain("text/html");
});

test("programs get 401 in JSON without a login instead of a redirect, for the API and for /ws", async () => {
  const { origin, browser } = tools();
  const client = browser();
  for (const path of ["/api/sessions", "/api/auth/config", "/api/health", "/", "/assets/x.js"]) {
    const answer = await client.ask(`${origin}${path}`);
    expect([path, answer.status, answer.json.code]).toEqual([path, 401, "unauthorized"]);
  }
  const page = { ...NAVIGATION, "sec-fetch-mode": "cors" };
  expect((await client.ask(`${origin}/api/health`, { headers: page })).status).toBe(401);
  expect((await client.ask(`${origin}/api/sessions`, { method: "POST", headers: NAVIGATION })).status).toBe(
    401,
  );
  await expect(client.webSocket(origin, { origin })).rejects.toThrow("status 401");
});

test("the cookies are for this host, over TLS, and for no script; the one of the login lasts 12 hours", async () => {
  const { origin, browser } = tools();
  const client = browser();
  const start = await client.ask(`${origin}/`, { headers: NAVIGATION });
  const [begun = ""] = start.headers["set-cookie"] ?? [];
  expect(begun).toMatch(
    /^__Host-ttyhq-begun-.{8}=[\w-]+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
  );
  await stage().logIn(client);
  expect(client.cookies(origin).get(LOGIN_COOKIE)).toMatch(/^[\w-]{90,128}$/);
  // Begun and finished logins leave nothing behind.
  const names = [...client.cookies(origin).keys()];
  expect(names.filter((name) => name.startsWith("__Host-ttyhq-begun")).length).toBe(1);
});

test.each<[string, Record<string, unknown>, string]>([
  [
    "a verified address",
    { email: "ada@example.com", email_verified: true, preferred_username: "x" },
    "ada@example.com",
  ],
  [
    "issuer and subject where the address is not verified",
    { email: "root@x.example", email_verified: false, preferred_username: "ada" },
    "#17",
  ],
  ["an address that is not ASCII", { email: "zoë@example.com", email_verified: true }, "zoë@example.com"],
])("the login is %s", async (_, claims, name) => {
  const { provider, browser, userOf } = tools();
  const login = name.startsWith("#") ? `${provider.issuer}${name}` : name;
  provider.person = { sub: "17", ...claims };
  const client = browser();
  await stage().logIn(client);
  expect(await userOf(client)).toBe(login);
});

test("two windows may log in at once, in any order", async () => {
  const { origin, browser } = tools();
  const client = browser();
  const first = await client.visit(`${origin}/first`);
  const second = await client.visit(`${origin}/second`);
  const finish = async (url: string): Promise<string> => {
    let page = await client.visit(url, { method: "POST" });
    while (page.url.includes("/press/")) page = await client.visit(page.url, { method: "POST" });
    return page.url;
  };
  expect(await finish(second.url)).toBe(`${origin}/second`);
  expect(await finish(first.url)).toBe(`${origin}/first`);
});

test("of many logins that were begun a browser keeps the last few, so that its requests stay small", async () => {
  const { origin, browser } = tools();
  const client = browser();
  for (let count = 0; count < 12; count++) await client.ask(`${origin}/`, { headers: NAVIGATION });
  expect(client.cookies(origin).size).toBe(4);
});

test("an unknown, foreign or modified login is refused with a clear message", async () => {
  const { origin, browser } = tools();
  const [victim, attacker] = [browser(), browser()];
  const callback = async (search: string, client: TlsClient) =>
    await client.ask(`${origin}/.proxy/callback${search}`, { headers: NAVIGATION });
  const reached = await callbackOf(attacker);
  for (const search of ["", "?code=x", "?state=x&code=y", reached, reached.replace(/state=./, "state=X")]) {
    const page = await callback(search, victim);
    expect([search, page.status]).toEqual([search, 403]);
    expect(page.text).toContain("started in another browser");
    expect(page.text).toContain("Try again");
    expect(victim.cookies(origin).get(LOGIN_COOKIE)).toBeUndefined();
  }
  const page = await callback(reached.replace(/code=.{4}/, "code=XXXX"), attacker);
  expect([page.status, attacker.cookies(origin).get(LOGIN_COOKIE)]).toEqual([403, undefined]);
});

test("a code works once", async () => {
  const { origin, browser } = tools();
  const client = browser();
  const search = await callbackOf(client);
  const thief = client.copy();
  expect((await client.ask(`${origin}/.proxy/callback${search}`, { headers: NAVIGATION })).status).toBe(303);
  const again = await thief.ask(`${origin}/.proxy/callback${search}`, { headers: NAVIGATION });
  expect([again.status, thief.cookies(origin).get(LOGIN_COOKIE)]).toEqual([403, undefined]);
});

/** The query of the provider's redirect, without following it. */
async function callbackOf(client: TlsClient): Promise<string> {
  const { origin } = tools();
  let url = (await client.visit(`${origin}/`)).url;
  for (;;) {
    const method = url.includes("/press/") ? "POST" : "GET";
    const page = await client.ask(url, { method, headers: NAVIGATION });
    url = new URL(String(page.headers.location), url).href;
    if (url.startsWith(`${origin}/.proxy/callback`)) return new URL(url).search;
  }
}

test("a user who declines at the provider gets a message", async () => {
  const { provider, origin, browser } = tools();
  const client = browser();
  const start = await client.ask(`${origin}/`, { headers: NAVIGATION });
  const state = new URL(String(start.headers.location)).searchParams.get("state");
  const search = `?error=access_denied&error_description=${encodeURIComponent("<b>no</b>")}&state=${state}&iss=${encodeURIComponent(provider.issuer)}`;
  const page = await client.ask(`${origin}/.proxy/callback${search}`, { headers: NAVIGATION });
  expect([page.status, page.text]).toEqual([403, expect.stringContaining("access_denied")]);
  expect(page.text).not.toContain("<b>no");
});

test.each([
  "//evil.example",
  "https://evil.example",
  "/\\evil.example",
  "/.proxy/logout",
  "/%0d%0aset-cookie:x",
])("a login that is to lead to %s leads to this host", async (to) => {
  const { origin, browser } = tools();
  const page = await stage().logIn(browser(), `/.proxy/login?return=${encodeURIComponent(to)}`);
  expect(new URL(page.url).origin).toBe(origin);
  expect(new URL(page.url).pathname).not.toContain(".proxy");
});

test("under another name nobody logs in, because the provider would not lead back there", async () => {
  const { origin, browser } = tools();
  const client = browser();
  const host = `127.0.0.1:${new URL(origin).port}`;
  const page = await client.ask(`${origin}/`, { headers: { ...NAVIGATION, host } });
  expect([page.status, page.text]).toEqual([421, expect.stringContaining(`href="${origin}"`)]);
});

test("a new login replaces the old one, which ends", async () => {
  const { provider, origin, browser, userOf } = tools();
  const client = browser();
  await stage().logIn(client);
  const old = client.copy();
  provider.person = { sub: "2", email: "grace@example.com", email_verified: true };
  client.forget(provider.issuer);
  await stage().logIn(client, "/.proxy/login");
  expect(await userOf(client)).toBe("grace@example.com");
  expect((await old.ask(`${origin}/api/auth/config`)).status).toBe(401);
});

test("a client certificate replaces the login, and an invalid one does not prevent it", async () => {
  const { origin, authority, userOf } = tools();
  const { cert, key } = await authority.issue({ subject: "/CN=grace" });
  expect(await userOf(new TlsClient({ ca: authority.cert, cert, key }))).toBe("grace");
  const expired = await authority.issue({ subject: "/CN=grace", days: -1 });
  const client = new TlsClient({ ca: authority.cert, cert: expired.cert, key: expired.key });
  expect((await client.ask(`${origin}/api/auth/config`)).status).toBe(401);
  await stage().logIn(client);
  expect(await userOf(client)).toBe("ada@example.com");
});
