// --allow-local-bypass: this machine needs no login; requests that only look local are refused (contract 5.10).
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, shakeHands } from "../harness/http.ts";
import { passwordServer } from "../harness/password-server.ts";
import type { TestServer } from "../harness/test-server.ts";

const TOKEN = "a token of this machine";
const scope = new AsyncDisposableStack();
let open: TestServer;
let guarded: TestServer;

beforeAll(async () => {
  const everywhere = ["--bind", "0.0.0.0", "--allow-local-bypass"];
  open = scope.use(await passwordServer("inline", { args: everywhere }));
  const env = { TTYHQ_LOCAL_AUTH_TOKEN: TOKEN };
  guarded = scope.use(await passwordServer("inline", { args: ["--allow-local-bypass"], env }));
});
afterAll(() => scope.disposeAsync());

/** A non-loopback address of this machine. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = all.find(({ internal, family }) => !internal && family === "IPv4");
  if (found === undefined) throw new Error("this machine has no address but loopback: nothing to test with");
  return found.address;
}

/** Whether it is admitted, over REST and over /ws. */
async function isLetIn(server: TestServer, headers: Record<string, string>, from?: string): Promise<boolean> {
  const url = server.url.replace("0.0.0.0", "127.0.0.1").replace("localhost", "127.0.0.1");
  const rest = await ask(url, "/api/sessions", { headers, ...(from === undefined ? {} : { from }) });
  const config = await ask(url, "/api/auth/config", { headers, ...(from === undefined ? {} : { from }) });
  expect("user" in config.json).toBe(rest.status === 200);
  if (from === undefined) {
    expect((await shakeHands(url, "/ws", headers)).status).toBe(rest.status === 200 ? 101 : rest.status);
  }
  return rest.status === 200;
}

const LOCAL_NAMES = [
  "localhost",
  "localhost:4020",
  "127.0.0.1",
  "127.0.0.1:80",
  "[::1]",
  "[::1]:4020",
  "a.localhost",
];
const FOREIGN_NAMES = [
  ...["term.example.com", "localhost.evil.example", "evil-localhost", "127.0.0.1.evil.example", "0.0.0.0"],
  ...["192.0.2.1", "[::2]", "localhost.", "2130706433", "0x7f000001", "127.1"],
];

test.each(LOCAL_NAMES)("under the name %s this machine is let in", async (host) => {
  expect(await isLetIn(open, { host })).toBe(true);
});

test.each(FOREIGN_NAMES)("under the name %s nobody is", async (host) => {
  expect(await isLetIn(open, { host })).toBe(false);
});

test.each([
  ...[
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "forwarded",
    "via",
    "x-real-ip",
    "X-Forwarded-Port",
  ],
  ...["cf-connecting-ip", "true-client-ip", "x-envoy-external-address", "tailscale-user-login"],
  ...["proxy-user-login", "Proxy-User-Name", "proxy-user-profile-pic"],
])("with the header %s nobody is", async (name) => {
  for (const value of ["127.0.0.1", "localhost", "x"]) {
    expect(await isLetIn(open, { host: "localhost", [name]: value })).toBe(false);
  }
});

test("another address is not this machine's own, whatever the name, even when it is", async () => {
  const from = ownAddress();
  expect(await isLetIn(open, { host: "localhost" }, from)).toBe(false);
  expect(await isLetIn(open, { host: "localhost" }, "127.0.0.9")).toBe(true);
});

test("an admitted caller is the server's own user, and a page of another origin is refused", async () => {
  const { json } = await ask(open.url, "/api/auth/verify", { headers: { host: "localhost" } });
  expect(json).toMatchObject({ valid: true, userId: expect.any(String) });
  const headers = { host: "localhost", origin: "https://evil.example" };
  const refused = await ask(open.url, "/api/sessions", { headers, body: { command: ["true"] } });
  expect(refused.json.code).toBe("origin_not_allowed");
  expect((await shakeHands(open.url, "/ws", headers)).status).toBe(403);
  // A rebound name is not a name of this machine.
  const rebound = { host: "evil.example", origin: "http://evil.example" };
  expect((await ask(open.url, "/api/sessions", { headers: rebound })).status).toBe(401);
});

test("where a token is asked for, this machine is let in with it and with nothing else", async () => {
  const host = "localhost";
  expect(await isLetIn(guarded, { host })).toBe(false);
  for (const guess of ["", "wrong", TOKEN.slice(1), `${TOKEN}x`, TOKEN.toUpperCase(), `Bearer ${TOKEN}`]) {
    expect(await isLetIn(guarded, { host, "x-ttyhq-local": guess })).toBe(false);
  }
  expect(await isLetIn(guarded, { host, "X-Ttyhq-Local": TOKEN })).toBe(true);
  expect(await isLetIn(guarded, { host, "x-ttyhq-local": TOKEN, "x-forwarded-for": "127.0.0.1" })).toBe(
    false,
  );
  expect(await isLetIn(guarded, { host: "term.example.com", "x-ttyhq-local": TOKEN })).toBe(false);
  expect(guarded.log).not.toContain(TOKEN);
});

test("without the option this machine logs in like everybody", async () => {
  await using server = await passwordServer("inline");
  expect(await isLetIn(server, { host: "localhost", "x-ttyhq-local": TOKEN })).toBe(false);
});
