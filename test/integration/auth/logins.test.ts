// Logins, listed and ended one by one.
import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import type { LoginRecord } from "../../../src/protocol/schemas/login.ts";
import { headOf } from "../harness/answer-head.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { ask } from "../harness/http.ts";
import { postWithoutBody } from "../harness/late-body.ts";
import { logIn, PASSWORD, USERNAME } from "../harness/password-server.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";

const LOGIN_OVER = 4401;

let people: People;
let server: TestServer;

beforeAll(async () => {
  people = await People.make();
  server = await people.server();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

const admin = async (): Promise<Person> => new Person(server, await logIn(server));
const loginsOf = async (person: Person): Promise<readonly LoginRecord[]> =>
  (await person.ask("/api/auth/logins")).json;
const currentOf = async (person: Person): Promise<LoginRecord> => {
  const [current] = (await loginsOf(person)).filter((login) => login.current);
  if (current === undefined) throw new Error("no current login");
  return current;
};

test("a login is listed with how, when and from where it was made, and the current one is marked", async () => {
  const headers = { "user-agent": `Browser/1 ${"x".repeat(1_000)}` };
  const made = await ask(server.url, "/api/auth/token", { body: { password: PASSWORD }, headers });
  const person = new Person(server, made.json.token);
  await admin();
  const { json, text } = await person.ask("/api/auth/logins");
  const current = json.filter((login: LoginRecord) => login.current);
  expect(current).toEqual([
    {
      ...{ id: expect.any(String), user: USERNAME, method: "password", current: true },
      ...{ address: "127.0.0.1", client: headers["user-agent"].slice(0, 256) },
      ...{ createdAt: expect.any(String), lastUsedAt: expect.any(String), expiresAt: expect.any(String) },
    },
  ]);
  expect(Date.parse(current[0].expiresAt) - Date.parse(current[0].createdAt)).toBeLessThanOrEqual(86_400_000);
  expect(text).not.toContain(made.json.token.split(".")[2]);
  expect(json.length).toBeGreaterThan(1);
  expect(new Set(json.map(({ user }: LoginRecord) => user))).toEqual(new Set([USERNAME]));
});

test("exactly the login that is meant ends, and its sockets and streams with it", async () => {
  const [mine, lost] = [await admin(), await admin()];
  const session = await lost.start({ command: ["cat"], cwd: "/" });
  const { id } = await currentOf(lost);
  await using stays = await mine.connect();
  await using socket = await lost.connect();
  const path = `/api/sessions/${session.id}/stream`;
  const outgoing = request(`${server.url}${path}`, { agent: false, headers: lost.headers }).end();
  const response = await withDeadline(headOf(outgoing), PATIENCE_MS, "the answer");
  const end = once(response.resume(), "error");
  const answer = await mine.ask(`/api/auth/logins/${id}`, { method: "DELETE" });
  expect(answer).toMatchObject({ status: 200, json: { success: true, user: USERNAME } });
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  expect(await withDeadline(end, PATIENCE_MS, "the end of the stream")).toMatchObject([
    { code: "ECONNRESET" },
  ]);
  expect((await lost.ask("/api/sessions")).status).toBe(401);
  expect((await mine.ask("/api/sessions")).status).toBe(200);
  await stays.settled();
  const line = await new AuditLog(server.controlDir).of("login.end");
  expect(line).toMatchObject({ user: USERNAME, result: "ok", details: { id, of: USERNAME } });
});

test("a login is invisible to other users", async () => {
  const [one, other] = [people.one, people.other].map((name) => Person.named(server, name));
  if (one === undefined || other === undefined) throw new Error("nobody");
  const { id } = await currentOf(one);
  const own = await loginsOf(other);
  expect(new Set(own.map(({ user }) => user))).toEqual(new Set([people.other]));
  const refused = await other.ask(`/api/auth/logins/${id}`, { method: "DELETE" });
  const never = await other.ask("/api/auth/logins/nothing", { method: "DELETE" });
  expect(refused).toMatchObject({ status: 404, json: { code: "login_not_found" } });
  expect(refused.text.replace(id, "nothing")).toBe(never.text);
  expect((await other.ask("/api/auth/logins?all=1")).json.code).toBe("forbidden");
  expect((await one.ask("/api/sessions")).status).toBe(200);
});

test.each(["/api/auth/tokens", "/api/sessions", "/api/sessions/ID/files?name=late"])(
  "a POST to %s whose body has not come is cut off when its login ends",
  async (path) => {
    const [mine, lost] = [await admin(), await admin()];
    const { id } = await mine.start({ command: ["cat"], cwd: "/tmp" });
    const answer = await postWithoutBody(lost, path.replace("ID", id));
    const login = await currentOf(lost);
    expect((await mine.ask(`/api/auth/logins/${login.id}`, { method: "DELETE" })).status).toBe(200);
    expect(await answer()).toBe("");
  },
);

test("an admin sees and ends everybody's", async () => {
  const [boss, one] = [await admin(), Person.named(server, people.one)];
  const { id } = await currentOf(one);
  const { json } = await boss.ask("/api/auth/logins?all=1");
  expect(json).toContainEqual(expect.objectContaining({ id, user: people.one, current: false }));
  expect((await loginsOf(boss)).some((login) => login.id === id)).toBe(false);
  expect((await boss.ask(`/api/auth/logins/${id}`, { method: "DELETE" })).status).toBe(200);
  expect((await one.ask("/api/sessions")).status).toBe(401);
});

test("an unused login ends, one with an open socket does not", async () => {
  await using short = await people.server({ args: ["--login-idle-timeout", "4s"] });
  const [idle, watching] = [new Person(short, await logIn(short)), new Person(short, await logIn(short))];
  await using socket = await watching.connect();
  const { id } = await currentOf(idle);
  const other = new Person(short, await logIn(short));
  const isOver = async () => !(await loginsOf(other)).some((login) => login.id === id) || undefined;
  await eventually(isOver, "the end of the idle login");
  expect(await idle.ask("/api/sessions")).toMatchObject({
    status: 401,
    json: { error: "login was not used for longer than this server allows: log in again" },
  });
  expect((await watching.ask("/api/sessions")).status).toBe(200);
  await socket.settled();
});
