// Debian's nginx instead of our own proxy: --enable-proxy-serve --proxy-external (specification 5.4, contract 5.9).
import { afterAll, beforeAll, expect, test } from "vitest";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { ask, shakeHands } from "../harness/http.ts";
import { IDENTITY, Nginx } from "../harness/nginx.ts";
import { PASSWORD, passwordServer, USERNAME } from "../harness/password-server.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import type { TestServer } from "../harness/test-server.ts";

const PEOPLE = { [USERNAME]: "of nginx", "grace@example.com": "another" };
const scope = new AsyncDisposableStack();
let server: TestServer;
let nginx: Nginx;

beforeAll(async () => {
  const args = [
    "--enable-proxy-serve",
    "--proxy-external",
    "--trusted-proxy",
    "127.0.0.1",
    "--allow-user",
    "*",
  ];
  server = scope.use(await passwordServer("inline", { args: [...args, "--allow-local-bypass"] }));
  nginx = scope.use(await Nginx.start({ to: server.url, people: PEOPLE, location: IDENTITY }));
});
afterAll(() => scope.disposeAsync());

function as(name: keyof typeof PEOPLE): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(`${name}:${PEOPLE[name]}`).toString("base64")}` };
}

const config = async (headers: Readonly<Record<string, string>>, path = "/api/auth/config") =>
  (await ask(nginx.url, path, { headers })).json;

test("the server accepts nginx's user without a login of its own", async () => {
  expect((await ask(nginx.url, "/api/sessions")).status).toBe(401);
  expect(await config(as(USERNAME))).toMatchObject({ proxyAuth: true, user: USERNAME });
  expect(await config(as("grace@example.com"))).toMatchObject({ user: "grace@example.com" });
  expect((await ask(nginx.url, "/api/sessions", { headers: as(USERNAME) })).json).toEqual([]);
});

test("headers that a client sends are nginx's, however they are spelled", async () => {
  for (const name of ["proxy-user-login", "Proxy-User-Login", "proxy_user_login", "PROXY-USER-LOGIN"]) {
    expect(await config({ ...as("grace@example.com"), [name]: USERNAME })).toMatchObject({
      user: "grace@example.com",
    });
  }
});

test("a session is made, watched and typed to through nginx", async () => {
  const headers = { ...as(USERNAME), origin: nginx.url };
  const made = await ask(nginx.url, "/api/sessions", { headers, body: { command: ["cat"] } });
  expect(made.status).toBe(201);
  await using socket = await RawSocket.open(nginx.url, { headers });
  socket.subscribe(made.json.id, { flags: 1 });
  socket.type(made.json.id, "through nginx\r");
  await socket.shows(/through nginx\r\nthrough nginx/);
  const foreign = await ask(nginx.url, "/api/sessions", {
    headers: { ...headers, origin: "https://evil.example" },
    body: { command: ["true"] },
  });
  expect([foreign.status, foreign.json.code]).toEqual([403, "origin_not_allowed"]);
  expect((await shakeHands(nginx.url, "/ws", { ...headers, origin: server.url })).status).toBe(403);
  expect((await ask(nginx.url, `/api/sessions/${made.json.id}`, { method: "DELETE", headers })).status).toBe(
    200,
  );
});

test("an event stream comes as it happens", async () => {
  const headers = as(USERNAME);
  const { json } = await ask(nginx.url, "/api/sessions", { headers, body: { command: ["cat"] } });
  const response = await fetch(`${nginx.url}/api/sessions/${json.id}/stream`, { headers });
  const reader = response.body?.getReader();
  await ask(nginx.url, `/api/sessions/${json.id}/input`, { headers, body: { text: "streamed" } });
  let text = "";
  const read = async (): Promise<void> => {
    while (!text.includes("streamed")) text += new TextDecoder().decode((await reader?.read())?.value);
  };
  await withDeadline(read(), PATIENCE_MS, "the event");
  await reader?.cancel();
  await ask(nginx.url, `/api/sessions/${json.id}`, { method: "DELETE", headers });
});

test("nobody passes for this machine through nginx, not even where it says nothing of itself", async () => {
  await using plain = await Nginx.start({ to: server.url });
  // Directly at the server, this machine needs no login.
  expect((await ask(server.url, "/api/sessions")).status).toBe(200);
  expect((await ask(plain.url, "/api/sessions")).status).toBe(401);
  expect((await ask(plain.url, "/api/sessions", { headers: { host: "localhost" } })).status).toBe(401);
  // nginx's defaults: HTTP/1.0, the server's own address as Host, and no information about the client.
  expect((await ask(plain.url, "/untold/api/sessions")).status).toBe(401);
});

test("failed logins are counted for the client that nginx saw, not for nginx", async () => {
  await using plain = await Nginx.start({ to: server.url });
  const guess = (from: string) =>
    ask(plain.url, "/api/auth/token", { from, body: { username: `guess ${from}`, password: "wrong" } });
  for (let count = 0; count < 10; count++) expect((await guess("127.0.0.2")).status).toBe(401);
  expect((await guess("127.0.0.2")).status).toBe(429);
  expect((await guess("127.0.0.3")).status).toBe(401);
  const right = await ask(plain.url, "/api/auth/token", { from: "127.0.0.4", body: { password: PASSWORD } });
  expect(right.status).toBe(200);
  await server.logged('"address":"127.0.0.2"');
});

test("when the server stops, its connections through nginx are closed", async () => {
  await using other = await passwordServer("inline", { args: ["--enable-proxy-serve", "--proxy-external"] });
  await using front = await Nginx.start({ to: other.url, people: PEOPLE, location: IDENTITY });
  const socket = await RawSocket.open(front.url, { headers: as(USERNAME) });
  const closed = socket.closed();
  await other.kill("SIGTERM");
  expect((await closed).code).toBe(1001);
  expect((await ask(front.url, "/", { headers: as(USERNAME) })).status).toBe(502);
});
