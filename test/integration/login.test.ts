// Logging in and out, over the wire (contract 4.2, 5.1, 5.3, 5.5).
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { ttyhq } from "./harness/command.ts";
import { type Answer, ask, shakeHands } from "./harness/http.ts";
import {
  askAs,
  bearer,
  logIn,
  PASSWORD,
  passwordServer,
  ticketFor,
  USERNAME,
} from "./harness/password-server.ts";
import { TestServer } from "./harness/test-server.ts";
import { useShared } from "./harness/use-shared.ts";

const WRONG = { error: "wrong user name or password", code: "invalid_credentials", details: {} };

/** For tests that cause few failed logins and end no token of another test. */
const common = useShared(() => passwordServer("inline"));

const token = (server: TestServer, body: object) => ask(server.url, "/api/auth/token", { body });
const password = (server: TestServer, body: object) => ask(server.url, "/api/auth/password", { body });
const verify = (server: TestServer, proof: string) => askAs(proof, server, "/api/auth/verify");
const ticketOf = (link: string) => new URL(link).hash.replace("#login=", "");

test("the configured user gets a token for the password, with or without a name, by both names of the endpoint", async () => {
  const server = common();
  const answers = [
    await token(server, { username: USERNAME, password: PASSWORD }),
    await token(server, { password: PASSWORD }),
    await password(server, { userId: USERNAME, password: PASSWORD }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers[0]?.json).toEqual({ token: expect.any(String), expiresIn: 86_400, user: USERNAME });
  expect(answers[2]?.json).toEqual({
    ...{ success: true, token: expect.any(String), userId: USERNAME, authMethod: "password" },
  });
  for (const { json, headers } of answers) {
    expect((await verify(server, json.token)).json).toMatchObject({ valid: true, userId: USERNAME });
    expect(headers["cache-control"]).toBe("no-store");
  }
  expect((await ask(server.url, "/api/auth/config")).json).toEqual({
    ...{ enableSSHKeys: false, disallowUserPassword: false, noAuth: false, proxyAuth: false },
    passwordMode: "configured",
  });
});

test("the current user is the configured one where there is a pair, and else the server's own", async () => {
  const server = common();
  await using open = await TestServer.start();
  const current = async ({ url }: TestServer) => (await ask(url, "/api/auth/current-user")).json;
  expect(await current(server)).toEqual({ userId: USERNAME });
  expect(await current(open)).toEqual({ userId: userInfo().username });
});

test.each([
  [["--no-auth"], false],
  [["--no-auth", "--disallow-user-password"], true],
  [["--login-link"], false],
  [["--login-link", "--disallow-user-password"], true],
])("with %j disallowUserPassword is %s, as the option says", async (args, expected) => {
  await using server = await TestServer.start({ args: [...args, "--session-host", "inline"] });
  expect((await ask(server.url, "/api/auth/config")).json.disallowUserPassword).toBe(expected);
});

test("a wrong password and an unknown user are refused alike", async () => {
  await using server = await passwordServer("inline");
  const answers = [
    await token(server, { username: USERNAME, password: "wrong" }),
    await token(server, { username: "nobody", password: PASSWORD }),
    await token(server, { username: userInfo().username, password: "wrong" }),
    await token(server, {}),
    await password(server, { userId: USERNAME, password: "wrong" }),
    await password(server, { userId: "nobody", password: PASSWORD }),
  ];
  for (const { status, json, headers } of answers) {
    expect([status, json]).toEqual([401, WRONG]);
    expect(headers["www-authenticate"]).toBe('Bearer realm="ttyhq"');
  }
});

test("tokens outlive a restart of the server, and a logout outlives it too", async () => {
  await using server = await passwordServer("inline", { asProcess: true });
  const [kept, given] = [await logIn(server), await logIn(server)];
  const logout = await askAs(given, server, "/api/auth/logout", { method: "POST" });
  expect(logout.json).toEqual({ success: true, message: "Logged out successfully" });
  expect((await verify(server, given)).status).toBe(401);
  await server.restart();
  expect((await verify(server, kept)).status).toBe(200);
  expect((await verify(server, given)).json).toEqual({
    ...{ error: "login is over: log in again", code: "unauthorized", details: {} },
  });
});

test("a ticket opens one socket", async () => {
  const server = common();
  const ticket = await ticketFor(await logIn(server), server);
  expect((await shakeHands(server.url, `/ws?token=${ticket}`)).status).toBe(101);
  expect((await shakeHands(server.url, `/ws?token=${ticket}`)).json).toEqual({
    ...{ error: "ticket was used or is too old", code: "unauthorized", details: {} },
  });
});

test("the query carries a token or a ticket to /ws and to event streams alone", async () => {
  const server = common();
  const proof = await logIn(server);
  const { json } = await askAs(proof, server, "/api/sessions", { body: { command: ["true"] } });
  const stream = `/api/sessions/${json.id}/stream`;
  const proofs = async () => [proof, await ticketFor(proof, server)];
  for (const each of await proofs()) {
    expect((await shakeHands(server.url, `/ws?token=${each}`)).status).toBe(101);
  }
  for (const each of await proofs())
    expect((await ask(server.url, `${stream}?token=${each}`)).status).toBe(200);
  for (const path of ["/api/sessions", `/api/sessions/${json.id}/recording`, "/api/auth/verify"]) {
    for (const each of await proofs()) {
      expect((await ask(server.url, `${path}?token=${each}`)).status).toBe(401);
    }
  }
});

test("a caller without a login is told how to log in, by REST and by /ws", async () => {
  const server = common();
  const refusals = [
    await ask(server.url, "/api/sessions"),
    await ask(server.url, "/api/sessions", { headers: bearer("a.b.c") }),
    await ask(server.url, "/api/sessions", { headers: { authorization: "Bearer" } }),
    await ask(server.url, "/api/sessions", { headers: { authorization: `Basic ${btoa(`${USERNAME}:x`)}` } }),
    await shakeHands(server.url),
    await shakeHands(server.url, "/ws?token=a.b.c"),
    await shakeHands(server.url, "/ws?token=guessed"),
    await shakeHands(server.url, "/ws", bearer("a.b.c")),
  ];
  for (const { status, headers, json } of refusals) {
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe('Bearer realm="ttyhq"');
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(json).toEqual({ error: expect.any(String), code: "unauthorized", details: {} });
  }
});

test("a login link logs the server's user in, once, also where no password does", async () => {
  const ways = ["--login-link", "--disallow-user-password"];
  await using server = await TestServer.start({ args: [...ways, "--session-host", "inline"] });
  expect(server.loginLink.startsWith(`${server.url}/#login=`)).toBe(true);
  const ticket = ticketOf(server.loginLink);
  const first = await token(server, { ticket });
  expect(first.json).toMatchObject({ user: userInfo().username });
  expect((await verify(server, first.json.token)).status).toBe(200);
  expect(await token(server, { ticket })).toMatchObject({ status: 401, json: { code: "unauthorized" } });
  expect(await token(server, { password: "x" })).toMatchObject({
    ...{ status: 403, json: { code: "password_disabled" } },
  });
});

test("ttyhq login-link creates another link, only on the server's machine", async () => {
  const server = common();
  const plain = await ttyhq(["login-link", "--control-dir", server.controlDir]);
  const asJson = await ttyhq(["login-link", "--json", "--control-dir", server.controlDir]);
  expect([plain.code, asJson.code]).toEqual([0, 0]);
  const { url, expiresIn } = JSON.parse(asJson.stdout);
  expect(expiresIn).toBe(600);
  for (const link of [plain.stdout.trim(), url]) {
    expect((await token(server, { ticket: ticketOf(link) })).json.user).toBe(userInfo().username);
  }
  const afar = await askAs(await logIn(server), server, "/api/auth/login-link", { method: "POST" });
  expect(afar).toMatchObject({ status: 403, json: { code: "forbidden" } });
});

test("with --public-url every login link leads there, and logs in", async () => {
  const publicUrl = "https://term.example.com";
  const args = ["--login-link", "--public-url", publicUrl, "--session-host", "inline"];
  await using server = await TestServer.start({ args });
  const made = await ttyhq(["login-link", "--control-dir", server.controlDir]);
  for (const link of [server.loginLink, made.stdout.trim()]) {
    expect(link.startsWith(`${publicUrl}/#login=`)).toBe(true);
    expect((await token(server, { ticket: ticketOf(link) })).json.user).toBe(userInfo().username);
  }
});

test("without login everybody is the server's user, token or not", async () => {
  await using server = await TestServer.start();
  const { username } = userInfo();
  expect((await ask(server.url, "/api/auth/config")).json).toMatchObject({ noAuth: true, user: username });
  const made = await ask(server.url, "/api/sessions", { body: { command: ["true"] } });
  expect(made.status).toBe(201);
  expect((await token(server, {})).json).toMatchObject({ user: username, expiresIn: 86_400 });
  expect((await ask(server.url, "/api/sessions", { headers: bearer("what.ever.it") })).status).toBe(200);
  expect((await shakeHands(server.url)).status).toBe(101);
});

test("the eleventh failed login within a minute is refused, though the password be right", async () => {
  await using server = await passwordServer("inline");
  const guesses: Answer[] = [];
  for (let count = 0; count < 10; count++) guesses.push(await token(server, { password: `guess ${count}` }));
  expect(guesses.map(({ status }) => status)).toEqual(Array<number>(10).fill(401));
  for (const answer of [
    await token(server, { password: PASSWORD }),
    await password(server, { userId: USERNAME, password: PASSWORD }),
    await token(server, { ticket: "guess" }),
  ]) {
    const seconds = Number(answer.headers["retry-after"]);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(answer).toMatchObject({
      ...{ status: 429, json: { code: "rate_limited", details: { retryAfterSeconds: seconds } } },
    });
  }
  const elsewhere = (body: object) => ask(server.url, "/api/auth/token", { body, from: "127.0.0.2" });
  expect((await elsewhere({ password: PASSWORD })).status).toBe(200);
  expect((await elsewhere({ username: "grace", password: "x" })).status).toBe(401);
});

test("API calls are limited for each user, whatever connection and token they come with", async () => {
  await using server = await passwordServer("inline", { args: ["--rate-limit-api", "4", "--login-link"] });
  const [mine, mineToo] = [await logIn(server), await logIn(server)];
  const theirs = (await token(server, { ticket: ticketOf(server.loginLink) })).json.token;
  const answers: Answer[] = [];
  for (const each of [mine, mineToo, mine, mineToo, mine]) {
    answers.push(await askAs(each, server, "/api/sessions"));
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
  const limits = answers.map(({ headers }) => /limit=4, remaining=(\d)/.exec(String(headers.ratelimit))?.[1]);
  expect(limits).toEqual(["3", "2", "1", "0", "0"]);
  expect(Number(answers[4]?.headers["retry-after"])).toBeGreaterThan(0);
  expect(answers[4]?.json.code).toBe("rate_limited");
  expect((await askAs(theirs, server, "/api/sessions")).status).toBe(200);
  expect((await askAs(mine, server, "/api/health")).status).toBe(200);
});
