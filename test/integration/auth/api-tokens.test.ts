// Tokens for programs: created, listed and revoked over REST and by the command line, and their rights.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { type ApiTokenRecord, NewApiToken } from "../../../src/protocol/schemas/login.ts";
import { AuditLog, type Line } from "../harness/audit-log.ts";
import { ttyhq } from "../harness/command.ts";
import { ask } from "../harness/http.ts";
import { logIn, PASSWORD, USERNAME } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";

const LOGIN_OVER = 4401;
const TOKENS = "/api/auth/tokens";

let people: People;
let server: TestServer;

beforeAll(async () => {
  people = await People.make();
  server = await people.server({ args: ["--allow-local-bypass"] });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

async function tokenOf(person: Person, name: string, scope: readonly string[]): Promise<NewApiToken> {
  const answer = await person.ask(TOKENS, { body: { name, scope, expiresIn: 3_600 } });
  expect(answer, answer.text).toMatchObject({ status: 201 });
  return NewApiToken.parse(answer.json);
}

const listed = async (person: Person, query = ""): Promise<readonly ApiTokenRecord[]> =>
  (await person.ask(`${TOKENS}${query}`)).json;

test("a token does what its scope says as its user, over REST and /ws, and nothing else", async () => {
  const owner = Person.named(server, people.one);
  const session = await owner.start({ command: ["cat"], cwd: "/" });
  const made = await tokenOf(owner, "watcher", ["sessions:view"]);
  const program = new Person(server, made.token);
  expect(await program.listed()).toEqual([session.id]);
  expect(await program.ask("/api/sessions", { body: { command: ["true"], cwd: "/" } })).toMatchObject({
    status: 403,
    json: { error: "this API token does not have sessions:create: its scope is sessions:view" },
  });
  await using socket = await program.connect();
  socket.subscribe(session.id, { flags: SubscribeFlag.Stdout });
  socket.type(session.id, "x");
  expect(await socket.errorCode()).toBe("forbidden");
  socket.send(FrameType.KILL, session.id, "SIGKILL");
  expect(await socket.errorCode()).toBe("forbidden");
  const starter = new Person(server, (await tokenOf(owner, "starter", ["sessions:create"])).token);
  const started = await starter.start({ command: ["cat"], cwd: "/" });
  expect(started.owner).toBe(people.one);
  expect((await starter.ask(`/api/sessions/${started.id}`)).status).toBe(403);
  await using blind = await starter.connect();
  blind.subscribe("", { flags: SubscribeFlag.Events });
  expect(await blind.errorCode()).toBe("forbidden");
});

test("an API token can neither create nor end tokens, logins, login links, passkeys or join tokens", async () => {
  const admin = new Person(server, await logIn(server));
  const all = "sessions:view sessions:create sessions:control sessions:manage repositories:use remotes:view";
  const scope = `${all} remotes:register clients:view metrics:view`.split(" ");
  const program = new Person(server, (await tokenOf(admin, "all", scope)).token);
  const body = { name: "more", scope: ["sessions:view"], expiresIn: 60 };
  const refused = [
    [TOKENS, { body }],
    [TOKENS, {}],
    [`${TOKENS}/any`, { method: "DELETE" }],
    ["/api/auth/logins?all=1", {}],
    ["/api/auth/logins/any", { method: "DELETE" }],
    ["/api/auth/login-link", { method: "POST" }],
    ["/api/auth/passkeys/options", { method: "POST" }],
    ["/api/auth/recovery-codes", { method: "POST" }],
    ["/api/auth/logout", { method: "POST" }],
  ] as const;
  for (const [path, question] of refused) {
    expect((await program.ask(path, question)).status, path).toBe(403);
  }
  for (const permission of ["account:use", "accounts:manage", "remotes:manage"]) {
    const answer = await admin.ask(TOKENS, { body: { ...body, scope: [permission] } });
    expect(answer.json.code, permission).toBe("invalid_request");
  }
});

test("nobody gets a token for more than they may do, without an end, or that could share more than it has", async () => {
  const owner = Person.named(server, people.one);
  const ask = async (change: object) =>
    (await owner.ask(TOKENS, { body: { name: "x", scope: ["sessions:view"], expiresIn: 60, ...change } }))
      .json;
  expect(await ask({ scope: ["sessions:view", "metrics:view"] })).toMatchObject({
    code: "forbidden",
    error: "the role user does not have metrics:view: --role gives users another one",
  });
  for (const expiresIn of [undefined, 0, 365 * 86_400 + 1]) {
    expect((await ask({ expiresIn })).code).toBe("invalid_request");
  }
  expect((await ask({ scope: ["sessions:view", "sessions:manage"] })).error).toContain("makes share links");
  expect((await ask({ name: "a b" })).code).toBe("invalid_request");
});

test("a share link that an API token created ends with it, when it expires or is revoked", async () => {
  const owner = Person.named(server, people.one);
  const session = await owner.start({ command: ["cat"], cwd: "/" });
  const scope = ["sessions:view", "sessions:control", "sessions:manage"];
  const made = await tokenOf(owner, "sharer", scope);
  const path = `/api/sessions/${session.id}/share`;
  const share = (await new Person(server, made.token).ask(path, { body: { expiresIn: 86_400 } })).json;
  expect(Date.parse(share.expiresAt)).toBeLessThanOrEqual(Date.parse(made.expiresAt));
  const guest = new Person(server, share.token);
  await using socket = await guest.connect();
  expect((await guest.ask(`/api/sessions/${session.id}`)).status).toBe(200);
  expect((await owner.ask(`${TOKENS}/${made.id}`, { method: "DELETE" })).status).toBe(200);
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  expect((await guest.ask(`/api/sessions/${session.id}`)).status).toBe(401);
  expect((await owner.ask(`${path}s`)).json).toEqual([]);
});

test("an API token lets no guests type by a link that outlives it", async () => {
  const owner = Person.named(server, people.one);
  const session = await owner.start({ command: ["cat"], cwd: "/" });
  const links = `/api/sessions/${session.id}/shares`;
  const { id } = (await owner.ask(`/api/sessions/${session.id}/share`, { body: { mode: "type" } })).json;
  const scope = ["sessions:view", "sessions:control", "sessions:manage"];
  const program = new Person(server, (await tokenOf(owner, "widener", scope)).token);
  const change = (mode: string) => program.ask(`${links}/${id}`, { method: "PATCH", body: { mode } });
  expect((await change("view")).status).toBe(200);
  expect(await change("type")).toMatchObject({ status: 403, json: { code: "forbidden" } });
  expect((await owner.ask(links)).json).toMatchObject([{ id, mode: "view" }]);
});

test("an API token of an HQ makes no share link on a machine, which would not end with it", async () => {
  await using hq = await people.server({ args: ["--hq", "--no-hq-auth"] });
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
  await using _worker = await people.server({ args: to });
  const admin = new Person(hq, await logIn(hq));
  const remoteId = await eventually(async () => (await admin.ask("/api/remotes")).json[0]?.id, "the remote");
  const owner = Person.named(hq, people.one);
  const session = await owner.start({ command: ["cat"], cwd: "/", remoteId });
  const scope = ["sessions:view", "sessions:control", "sessions:manage", "remotes:view"];
  const program = new Person(hq, (await tokenOf(owner, "forwarder", scope)).token);
  const there = `/api/remotes/worker/proxy/api/sessions/${session.id}/share`;
  expect(await program.ask(there, { body: { mode: "type" } })).toMatchObject({
    status: 404,
    json: { error: "share a session with POST /api/sessions/:id/share" },
  });
  expect((await owner.ask(`${there}s`)).json).toEqual([]);
});

test("a token is shown once, listed to its user and to admins, and revoked by nobody else", async () => {
  const [owner, other] = [Person.named(server, people.one), Person.named(server, people.other)];
  const made = await tokenOf(owner, "listed", ["sessions:view"]);
  const [token = "", ...more] = (await listed(owner)).filter(({ name }) => name === "listed");
  expect(more).toEqual([]);
  const { token: secret, ...record } = made;
  expect(token).toEqual(record);
  expect(record).toMatchObject({ user: people.one, address: "127.0.0.1", scope: ["sessions:view"] });
  expect((await owner.ask(TOKENS)).text).not.toContain(secret.split(".")[2]);
  const program = new Person(server, secret);
  await program.listed();
  const used = (await listed(owner)).find(({ id }) => id === made.id);
  expect(used?.lastUsedAt).toBeDefined();
  expect((await listed(other)).map(({ name }) => name)).not.toContain("listed");
  expect((await other.ask(`${TOKENS}?all=1`)).status).toBe(403);
  const path = `${TOKENS}/${made.id}`;
  expect((await other.ask(path, { method: "DELETE" })).json.code).toBe("token_not_found");
  const admin = new Person(server, await logIn(server));
  expect(await listed(admin, "?all=1")).toContainEqual(expect.objectContaining({ id: made.id }));
  await using socket = await program.connect();
  expect((await admin.ask(path, { method: "DELETE" })).json).toEqual({ success: true, user: people.one });
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  expect((await program.ask("/api/sessions")).status).toBe(401);
});

test("the audit log has who made, used and revoked which token", async () => {
  const admin = new Person(server, await logIn(server));
  const { id, token } = await tokenOf(admin, "audited", ["sessions:view"]);
  await new Person(server, token).listed();
  await admin.ask(`${TOKENS}/${id}`, { method: "DELETE" });
  const audit = new AuditLog(server.controlDir);
  const isIt = (line: Line): boolean => JSON.stringify(line.details ?? {}).includes(id);
  await audit.line((line) => line.action === "api-token.revoke" && isIt(line), "the revocation");
  const lines = (await audit.wholeLines()).filter(isIt);
  expect(lines.map(({ action, method, result }) => [action, method, result])).toEqual([
    ["api-token.create", "token", "ok"],
    ["login", "api-token", "ok"],
    ["api-token.revoke", "token", "ok"],
  ]);
  expect(JSON.stringify(lines)).not.toContain(token);
});

test("a caller without a login of this server gets no token", async () => {
  const body = { name: "local", scope: ["sessions:view"], expiresIn: 60 };
  expect(await ask(server.url, TOKENS, { body })).toMatchObject({
    ...{ status: 403, json: { error: expect.stringContaining("log in with a password") } },
  });
});

describe("the command line", () => {
  const at = (...args: readonly string[]) => ttyhq([...args, "--control-dir", server.controlDir]);

  test("makes a token that works elsewhere, lists it and revokes it by its name", async () => {
    const scope = "sessions:view,sessions:create";
    const made = await at("token", "create", "--name", "ci", "--scope", scope, "--ttl", "30d");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const program = { TTYHQ_TOKEN: made.stdout.trim() };
    const elsewhere = await ttyhq(["ls", "--json", "--url", server.url], program);
    expect(elsewhere).toMatchObject({ code: 0 });
    const mine = await at("token", "list");
    expect(mine.stdout).toMatch(
      /^NAME +USER +SCOPE +LAST USED +EXPIRES IN +ID\nci .* sessions:view,sessions:create /,
    );
    expect(JSON.parse((await at("token", "list", "--all", "--json")).stdout)).toContainEqual(
      expect.objectContaining({ name: "ci", scope: scope.split(",") }),
    );
    expect(await at("token", "revoke", "ci")).toMatchObject({ code: 0, stdout: "ci revoked\n" });
    expect((await ttyhq(["ls", "--url", server.url], program)).code).not.toBe(0);
    expect((await at("token", "revoke", "ci")).stderr).toContain("no API token ci");
  });

  test("makes one as whoever has the token of a login, at another server", async () => {
    const login = { TTYHQ_TOKEN: await logIn(server) };
    const args = ["token", "create", "--name", "far", "--scope", "metrics:view", "--ttl", "1h", "--json"];
    const made = await ttyhq([...args, "--url", server.url], login);
    expect(JSON.parse(made.stdout)).toMatchObject({ user: USERNAME, scope: ["metrics:view"] });
    const metrics = await new Person(server, JSON.parse(made.stdout).token).ask("/metrics");
    expect(metrics.status).toBe(200);
    expect(made.stderr).not.toContain(PASSWORD);
  });

  test("says what a scope can be, and that there is an end", async () => {
    const wrong = await at("token", "create", "--name", "x", "--scope", "everything", "--ttl", "1d");
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("sessions:view") });
    expect((await at("token", "create", "--name", "x", "--scope", "sessions:view")).stderr).toContain(
      "--ttl",
    );
  });
});
