// Identity headers are accepted only from this machine, and only if an option says so (specification 5.4, contract
// 5.9).
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ttyhq } from "../harness/command.ts";
import { ask, shakeHands } from "../harness/http.ts";
import { logIn, passwordServer, USERNAME } from "../harness/password-server.ts";
import type { TestServer } from "../harness/test-server.ts";

const scope = new AsyncDisposableStack();
let server: TestServer;

beforeAll(async () => {
  const args = ["--enable-proxy-serve", "--proxy-external", "--allow-user", "ada@example.com"];
  server = scope.use(await passwordServer("inline", { args }));
});
afterAll(() => scope.disposeAsync());

const by = (login: string, more: Record<string, string> = {}) => ({ "proxy-user-login": login, ...more });

function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = all.find(({ internal, family }) => !internal && family === "IPv4");
  if (found === undefined) throw new Error("this machine has no address but loopback: nothing to test with");
  return found.address;
}

test("a proxy on this machine identifies the caller, over REST and over /ws", async () => {
  const headers = by("ada@example.com", {
    "proxy-user-name": "Ada",
    "proxy-user-profile-pic": "https://x.example/a",
  });
  expect((await ask(server.url, "/api/auth/verify", { headers })).json).toMatchObject({
    valid: true,
    userId: "ada@example.com",
  });
  expect((await ask(server.url, "/api/auth/config", { headers })).json).toMatchObject({
    ...{ proxyAuth: true, user: "ada@example.com" },
  });
  expect((await shakeHands(server.url, "/ws", headers)).status).toBe(101);
});

test("the page gets the proxy's name and picture, if they can be shown", async () => {
  const told = async (more: Record<string, string>) =>
    (await ask(server.url, "/api/auth/config", { headers: by("ada@example.com", more) })).json;
  const name = Buffer.from("Ada Løvelace \u202e").toString("latin1");
  const ada = { login: "ada@example.com", name: "Ada Løvelace", profilePic: "https://x.example/a.png" };
  expect(await told({ "proxy-user-name": name, "proxy-user-profile-pic": ada.profilePic })).toMatchObject({
    ...{ user: ada.login, proxyUser: ada },
    // In VibeTunnel's format.
    ...{ tailscaleAuth: true, authenticatedUser: ada.login, tailscaleUser: ada },
  });
  const plain = { login: "ada@example.com", name: "ada@example.com" };
  for (const avatarUrl of [
    "http://x.example/a.png",
    "javascript:alert(1)",
    "data:image/png;base64,AA",
    "https://",
    "https://x y/",
  ])
    expect((await told({ "proxy-user-profile-pic": avatarUrl })).proxyUser).toEqual(plain);
});

test("an unauthenticated name and picture reach nobody", async () => {
  await using plain = await passwordServer("inline");
  const headers = by(USERNAME, { "proxy-user-name": "Ada" });
  expect((await ask(plain.url, "/api/auth/config", { headers })).json).not.toHaveProperty("proxyUser");
  const policies = [server, plain].map(
    async ({ url }) => (await ask(url, "/")).headers["content-security-policy"],
  );
  expect(await Promise.all(policies)).toEqual([
    expect.stringContaining("img-src 'self' data: https:;"),
    expect.stringContaining("img-src 'self' data:;"),
  ]);
});

test("a user whom --allow-user does not name is refused, and not treated as another user", async () => {
  const headers = by("mallory@example.com");
  expect((await ask(server.url, "/api/sessions", { headers })).status).toBe(401);
  expect((await ask(server.url, "/api/auth/config", { headers })).json).not.toHaveProperty("user");
  expect((await shakeHands(server.url, "/ws", headers)).status).toBe(401);
});

test("other machines cannot reach the server, and identity headers from a non-loopback address are ignored", async () => {
  const address = ownAddress();
  const { port } = new URL(server.url);
  await expect(ask(`http://${address}:${port}`, "/livez")).rejects.toThrow("ECONNREFUSED");
  for (const login of [USERNAME, "ada@example.com"]) {
    const answer = await ask(server.url, "/api/sessions", { headers: by(login), from: address });
    expect([login, answer.status]).toEqual([login, 401]);
  }
  expect((await ask(server.url, "/api/sessions", { headers: by(USERNAME), from: "127.0.0.7" })).status).toBe(
    200,
  );
});

test("without the option the headers say nothing", async () => {
  await using plain = await passwordServer("inline", { args: ["--allow-user", "*"] });
  const headers = by(USERNAME);
  expect((await ask(plain.url, "/api/sessions", { headers })).status).toBe(401);
  expect((await ask(plain.url, "/api/auth/config", { headers })).json).toMatchObject({ proxyAuth: false });
  expect((await ask(plain.url, "/api/auth/config", { headers })).json).not.toHaveProperty("user");
});

test("a service token overrides the proxy's user", async () => {
  const token = await logIn(server);
  const headers = by("ada@example.com", { authorization: `Bearer ${token}` });
  expect((await ask(server.url, "/api/auth/verify", { headers })).json.userId).toBe(USERNAME);
});

test("a ticket issued for a proxy's user is valid for /ws once", async () => {
  const { json } = await ask(server.url, "/api/auth/ws-ticket", {
    method: "POST",
    headers: by("ada@example.com"),
  });
  expect((await shakeHands(server.url, `/ws?token=${json.ticket}`)).status).toBe(101);
  expect((await shakeHands(server.url, `/ws?token=${json.ticket}`)).status).toBe(401);
});

test.each([
  [["--bind", "0.0.0.0"], "--enable-proxy-serve listens on 127.0.0.1 alone"],
  [[], "--enable-proxy-serve starts a proxy that speaks HTTPS: give --tls-cert and --tls-key"],
  [["--proxy-oidc-issuer", "https://id.example.com"], "OpenID Connect needs all three"],
  [["--proxy-oidc-issuer", "http://id.example.com"], "must be the https url of a provider"],
  [["--proxy-url", "http://term.example.com"], "must be https://host[:port]"],
  [["--proxy-oidc-scope", "profile email"], "openid among them"],
  [
    ["--proxy-external", "--proxy-listen", "0.0.0.0:1"],
    "--proxy-listen is for the proxy that --enable-proxy-serve",
  ],
])("with %j it does not start, and says why", async (args, sentence) => {
  const { code, stderr } = await ttyhq([
    "serve",
    "--enable-proxy-serve",
    ...args,
    "--control-dir",
    "/nowhere",
  ]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});
