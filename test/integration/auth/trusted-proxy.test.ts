// --trusted-proxy: proxies in front report the origin of a request; nobody else may (contract 4.2, 5.8).
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { ask, shakeHands } from "../harness/http.ts";
import { PASSWORD, passwordServer } from "../harness/password-server.ts";
import type { TestServer } from "../harness/test-server.ts";

/** The proxy, and a client that is none. */
const PROXY = "127.0.0.8";
const OTHER = "127.0.0.9";
const scope = new AsyncDisposableStack();
let server: TestServer;

beforeAll(async () => {
  const args = ["--trusted-proxy", PROXY, "--trusted-proxy", "10.0.0.0/8", "--debug"];
  server = scope.use(await passwordServer("inline", { args }));
});
afterAll(() => scope.disposeAsync());

/** A failed login, with a different user each time, so that only the address counts. */
let guesses = 0;
async function guess(from: string, forwarded?: string): Promise<number> {
  guesses += 1;
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  const body = { username: `nobody ${guesses}`, password: "wrong" };
  return (await ask(server.url, "/api/auth/token", { headers, from, body })).status;
}

async function guessesBefore429(
  from: string,
  forwarded: (count: number) => string | undefined,
): Promise<number> {
  for (let count = 0; count < 20; count++) if ((await guess(from, forwarded(count))) === 429) return count;
  return 20;
}

test("failed logins are counted for the client whom the proxy saw", async () => {
  expect(await guessesBefore429(PROXY, () => "198.51.100.1")).toBe(10);
  expect(await guess(PROXY, "198.51.100.2")).toBe(401);
  expect(await guess(PROXY, "203.0.113.9, 198.51.100.1")).toBe(429);
});

test("a client cannot forge its address, neither at the proxy nor directly at the server", async () => {
  expect(await guessesBefore429(PROXY, (count) => `203.0.113.${count}, 198.51.100.3`)).toBe(10);
  expect(await guessesBefore429(OTHER, (count) => `203.0.113.${count}`)).toBe(10);
});

test("of several proxies all that are trusted are passed over", async () => {
  expect(
    await guessesBefore429(PROXY, (count) => `203.0.113.${count}, 198.51.100.4, 10.1.2.3, 10.0.0.1`),
  ).toBe(10);
});

test("the proxy's own name and scheme are what the page's origin is compared with", async () => {
  const { json } = await ask(server.url, "/api/auth/token", { body: { password: PASSWORD } });
  const through = {
    "x-forwarded-host": "term.example.com",
    "x-forwarded-proto": "https",
    host: "inner:4020",
  };
  const change = async (headers: Record<string, string>, from: string): Promise<number> => {
    const authorization = `Bearer ${json.token}`;
    const asked = { method: "POST", headers: { authorization, ...headers }, from };
    return (await ask(server.url, "/api/auth/ws-ticket", asked)).status;
  };
  expect(await change({ ...through, origin: "https://term.example.com" }, PROXY)).toBe(200);
  for (const origin of ["http://term.example.com", "http://inner:4020", "https://evil.example", "null"]) {
    expect([origin, await change({ ...through, origin }, PROXY)]).toEqual([origin, 403]);
  }
  // From anybody else these headers are ignored.
  expect(await change({ ...through, origin: "https://term.example.com" }, OTHER)).toBe(403);
  expect(await change({ ...through, origin: "http://inner:4020" }, OTHER)).toBe(200);
});

test("over https under a name alone a browser is told to stay there", async () => {
  const told = async (headers: Record<string, string>, from: string): Promise<unknown> =>
    (await ask(server.url, "/livez", { headers, from })).headers["strict-transport-security"];
  const https = { "x-forwarded-host": "term.example.com", "x-forwarded-proto": "https" };
  expect(await told(https, PROXY)).toBe("max-age=31536000");
  expect(await told({ ...https, "x-forwarded-host": "term.example.com:8443" }, PROXY)).toBeUndefined();
  expect(await told({ ...https, "x-forwarded-proto": "http" }, PROXY)).toBeUndefined();
  expect(await told(https, OTHER)).toBeUndefined();
});

test("calls without a login are limited per client, not per proxy", async () => {
  await using limited = await passwordServer("inline", {
    args: ["--trusted-proxy", PROXY, "--rate-limit-api", "5"],
  });
  const call = async (client: string): Promise<number> =>
    (await ask(limited.url, "/api/auth/config", { headers: { "x-forwarded-for": client }, from: PROXY }))
      .status;
  for (let count = 0; count < 5; count++) expect(await call("198.51.100.1")).toBe(200);
  expect([await call("198.51.100.1"), await call("198.51.100.2")]).toEqual([429, 200]);
});

test("logs name the client, for /ws as well", async () => {
  const headers = { "x-forwarded-for": "198.51.100.77" };
  await ask(server.url, "/livez", { headers, from: PROXY });
  const isLogged = async () => (server.log.includes('"address":"198.51.100.77"') ? true : undefined);
  await eventually(isLogged, "the line of the request");
  expect((await shakeHands(server.url, "/ws", headers)).status).toBe(401);
});

test("a range of IPv6, or a word that is none, is taken or refused at the start", async () => {
  await using six = await passwordServer("inline", {
    args: ["--trusted-proxy", "fd00::/8", "--trusted-proxy", "::1"],
  });
  expect((await ask(six.url, "/livez")).status).toBe(200);
  await expect(passwordServer("inline", { args: ["--trusted-proxy", "10.0.0.0/33"] })).rejects.toThrow(
    "must be an address or a range of addresses",
  );
});
