// Logging out of the reverse proxy, and stored logins (contract 5.9).
import { once } from "node:events";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { bestTime } from "../harness/best-time.ts";
import { shakeHands } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { NAVIGATION } from "../harness/tls-client.ts";
import { LOGIN_COOKIE, OidcStage, useOidcStage } from "./oidc-stage.ts";

const stage = useOidcStage();
const tools = () => stage().tools;
const OUT_WITHIN_MS = 1_000;

test("logging out ends the login here and at the provider", async () => {
  const { provider, origin, browser } = tools();
  const client = browser();
  await stage().logIn(client);
  const asked = await client.ask(`${origin}/.proxy/logout`, { headers: NAVIGATION });
  expect(asked.text).toContain("You are logged in as Ada Lovelace (ada@example.com).");
  const thief = client.copy();
  const out = await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers: { origin } });
  const to = new URL(String(out.headers.location));
  expect([out.status, to.origin, to.pathname]).toEqual([303, provider.issuer, "/session/end"]);
  expect(to.searchParams.get("post_logout_redirect_uri")).toBe(`${origin}/.proxy/logged-out`);
  expect(to.searchParams.get("id_token_hint")).toMatch(/^eyJ/);
  // The browser has lost the cookie, and elsewhere it is invalid.
  expect(client.cookies(origin).get(LOGIN_COOKIE)).toBeUndefined();
  expect((await thief.ask(`${origin}/api/auth/config`)).status).toBe(401);
  await expect(thief.webSocket(origin, { origin })).rejects.toThrow("status 401");
  // The provider asks before it ends its own session, too, and leads back.
  const form = await client.visit(to.href);
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(form.text)?.[1] ?? "";
  const ended = await client.visit(`${provider.issuer}/session/end/confirm`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `xsrf=${xsrf}&logout=yes`,
  });
  expect([ended.url, ended.text]).toEqual([
    `${origin}/.proxy/logged-out`,
    expect.stringContaining("Logged out"),
  ]);
  expect((await client.visit(`${origin}/`)).url).toContain("/press/");
});

test("logging out closes what is open by the login within a second", async () => {
  const { origin, browser } = tools();
  const closed = async (): Promise<number> => {
    const client = browser();
    await stage().logIn(client);
    const socket = await client.webSocket(origin, { origin });
    const stream = await client.open(`${origin}/api/auth/config`);
    stream.resume();
    const end = once(socket, "close");
    const started = performance.now();
    await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers: { origin } });
    await withDeadline(end, PATIENCE_MS, "the close");
    return performance.now() - started;
  };
  expect(await bestTime(OUT_WITHIN_MS, closed)).toBeLessThan(OUT_WITHIN_MS);
});

test("a ticket of a login opens a socket through the proxy alone, which closes it", async () => {
  const { origin, browser, server } = tools();
  const client = browser();
  await stage().logIn(client);
  const newPath = async (): Promise<string> => {
    const asked = { method: "POST", headers: { origin } } as const;
    return `/ws?token=${(await client.ask(`${origin}/api/auth/ws-ticket`, asked)).json.ticket}`;
  };
  expect((await shakeHands(server.behind, await newPath())).status).toBe(401);
  const socket = await client.webSocket(origin, { origin }, await newPath());
  const end = once(socket, "close");
  await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers: { origin } });
  await withDeadline(end, PATIENCE_MS, "the close");
});

test("a page of another origin logs nobody out", async () => {
  const { origin, browser, userOf } = tools();
  const client = browser();
  await stage().logIn(client);
  const foreign = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: origin.replace("https", "http") },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  for (const headers of foreign) {
    const refused = await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers });
    expect([refused.status, refused.json.code]).toEqual([403, "origin_not_allowed"]);
  }
  expect(await userOf(client)).toBe("ada@example.com");
  // The proxy's own page, in browsers that hide the origin.
  const headers = { origin: "null", "sec-fetch-site": "same-origin" };
  expect((await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers })).status).toBe(303);
});

test("no other path below /.proxy/ exists or reaches the server", async () => {
  const { origin, browser } = tools();
  const client = browser();
  await stage().logIn(client);
  for (const path of ["/.proxy", "/.proxy/", "/.proxy/x", "/.proxy/login/x", "/.proxy?x"]) {
    expect((await client.ask(`${origin}${path}`)).status).toBe(404);
  }
  expect((await client.ask(`${origin}/.proxy/callback`, { method: "POST" })).status).toBe(404);
});

test("logins, refused ones and logouts are in the audit log", async () => {
  const { server, origin, browser } = tools();
  const client = browser();
  await stage().logIn(client);
  await client.ask(`${origin}/.proxy/logout`, { method: "POST", headers: { origin } });
  const start = await client.ask(`${origin}/`, { headers: NAVIGATION });
  const state = new URL(String(start.headers.location)).searchParams.get("state");
  await client.ask(`${origin}/.proxy/callback?code=guess&state=${state}`, { headers: NAVIGATION });
  const last = await eventually(async () => {
    const lines = await new AuditLog(server.controlDir).wholeLines();
    const ours = lines.filter(({ method }) => method === "oidc").slice(-3);
    return ours.at(-1)?.result === "refused" ? ours : undefined;
  }, "the audit log");
  expect(last).toMatchObject([
    { action: "login", result: "ok", user: "ada@example.com", address: "127.0.0.1" },
    { action: "logout", result: "ok", user: "ada@example.com" },
    { action: "login", result: "refused" },
  ]);
});

test("refused logins without end leave one line in the audit log, and are counted", async () => {
  await using own = await OidcStage.open();
  const { provider, server, origin } = own;
  const client = own.browser();
  const start = await client.ask(`${origin}/`, { headers: NAVIGATION });
  const state = new URL(String(start.headers.location)).searchParams.get("state") ?? "";
  const answer = new URLSearchParams({ error: "access_denied", iss: provider.issuer, state });
  for (let count = 0; count < 20; count++) {
    // A stranger keeps the cookie of the login that has begun.
    const page = await client.copy().ask(`${origin}/.proxy/callback?${answer}`, { headers: NAVIGATION });
    expect(page.status).toBe(count < 10 ? 403 : 429);
    if (count >= 10) expect(page.headers["retry-after"]).toMatch(/^\d+$/);
  }
  await server.kill("SIGTERM");
  expect(server.log.match(/"access_denied"/g)?.length).toBe(10);
  expect(server.log.match(/"login refused"/g)?.length).toBe(10);
  const lines = (await new AuditLog(server.controlDir).lines()).filter(({ method }) => method === "oidc");
  expect(lines).toMatchObject([
    { action: "login", result: "refused", address: "127.0.0.1" },
    { action: "login", result: "refused", address: "127.0.0.1", details: { times: 19 } },
  ]);
});

test("no secret of a login gets into the log", async () => {
  const { origin, server, browser } = tools();
  const client = browser();
  await stage().logIn(client);
  await server.logged('"logged in"');
  const secrets = [client.cookies(origin).get(LOGIN_COOKIE) ?? "none", "the client secret", "eyJ"];
  for (const secret of secrets) expect(server.log).not.toContain(secret);
});
