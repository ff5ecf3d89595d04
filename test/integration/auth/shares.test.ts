// Links that open one session to anyone who has them.
import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { NewShare } from "../../../src/protocol/schemas/share.ts";
import { bestTime } from "../harness/best-time.ts";
import type { Question } from "../harness/http.ts";
import { postWithoutBody } from "../harness/late-body.ts";
import { logIn, PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import { TestServer } from "../harness/test-server.ts";

const FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Offsets | SubscribeFlag.Events;
const LOGIN_OVER = 4401;
const OUT_WITHIN_MS = 1_000;
const refused = (status: number, code: string) => ({ status, json: expect.objectContaining({ code }) });

let people: People;
let server: TestServer;
let owner: Person;

beforeAll(async () => {
  people = await People.make();
  server = await people.server();
  owner = Person.named(server, people.one);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

const startCat = (): Promise<SessionRecord> => owner.start({ command: ["cat"], cwd: "/" });

const guestOf = ({ token }: NewShare): Person => new Person(server, token);

test("a link tells what it opens, until when, and where", async () => {
  const session = await startCat();
  const made = await owner.share(session, "view", { expiresIn: 600 });
  expect(made).toMatchObject({ sessionId: session.id, mode: "view", createdBy: people.one });
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeGreaterThan(595_000);
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeLessThanOrEqual(600_000);
  expect(made.url).toBe(
    `${server.url.replace("127.0.0.1", new URL(made.url).hostname)}/#share=${made.token}`,
  );
});

test("all links of a user's sessions are listed at once, and none of another user's", async () => {
  const made = await owner.share(await startCat(), "view");
  const listedBy = async (person: Person) => (await person.ask("/api/shares")).json;
  expect(await listedBy(owner)).toContainEqual(
    expect.objectContaining({ id: made.id, createdBy: people.one }),
  );
  expect(JSON.stringify(await listedBy(owner))).not.toContain(made.token);
  expect(await listedBy(Person.named(server, people.other))).toEqual([]);
  expect(await listedBy(Person.named(server, people.admin))).toContainEqual(
    expect.objectContaining({ id: made.id }),
  );
  expect(await guestOf(made).ask("/api/shares")).toMatchObject(refused(403, "forbidden"));
});

test("links use the public address, and its pages may use the server", async () => {
  const publicUrl = "https://term.example.com";
  await using own = await people.server({ args: ["--public-url", publicUrl] });
  const me = Person.named(own, people.one);
  const { id } = await me.start({ command: ["cat"], cwd: "/" });
  const headers = { origin: publicUrl };
  const made = await me.ask(`/api/sessions/${id}/share`, { body: {}, headers });
  expect(made.json).toMatchObject({ url: expect.stringContaining(`${publicUrl}/#share=`), isPublic: true });
});

test.each([
  [{ mode: "rule" }],
  [{ expiresIn: 59 }],
  [{ expiresIn: 30 * 86_400 + 1 }],
  [{ expiresIn: 100.5 }],
])("%j makes no link", async (body) => {
  const session = await startCat();
  expect(await owner.ask(`/api/sessions/${session.id}/share`, { body })).toMatchObject(
    refused(400, "invalid_request"),
  );
});

describe.each(["view", "type"] as const)("a guest who may %s", (mode) => {
  let session: SessionRecord;
  let guest: Person;
  let path: string;

  beforeAll(async () => {
    session = await startCat();
    await owner.ask(`/api/sessions/${session.id}/input`, { body: { text: "for the guest\r" } });
    guest = guestOf(await owner.share(session, mode));
    path = `/api/sessions/${session.id}`;
  });

  test("sees that session, and what the link allows", async () => {
    expect((await guest.ask(path)).json).toMatchObject({ id: session.id, access: mode });
    expect((await guest.ask("/api/sessions")).json).toEqual([
      expect.objectContaining({ id: session.id, access: mode }),
    ]);
    for (const view of ["/text", "/buffer", "/resync", "/recording?follow=0", "/output", "/events?from=0"]) {
      expect((await guest.ask(`${path}${view}`)).status).toBe(200);
    }
  });

  test("follows it over /ws", async () => {
    await using socket = await guest.connect();
    socket.subscribe(session.id, { flags: FLAGS, from: 0 });
    await socket.shows(/for the guest/);
  });

  test("cannot end, kill, rename, remove or share it, start another, or see who else is here", async () => {
    const asked: readonly (readonly [string, Question])[] = [
      [path, { method: "DELETE" }],
      [path, { method: "PATCH", body: { name: "x" } }],
      [`${path}/kill`, { body: { signal: "SIGKILL" } }],
      [`${path}/share`, { body: {} }],
      [`${path}/shares`, {}],
      ["/api/sessions", { body: { command: ["cat"] } }],
      ["/api/clients", {}],
      ["/api/auth/logout", { method: "POST" }],
      ["/api/auth/login-link", { method: "POST" }],
    ];
    for (const [where, question] of asked) {
      expect(await guest.ask(where, question), where).toMatchObject(refused(403, "forbidden"));
    }
    await using socket = await guest.connect();
    socket.send(FrameType.KILL, session.id, "SIGKILL");
    expect(await socket.errorCode()).toBe("forbidden");
    expect((await owner.ask(path)).json.status).toBe("running");
  });

  test("knows of no other session", async () => {
    const hidden = await startCat();
    expect(await guest.ask(`/api/sessions/${hidden.id}`)).toMatchObject(refused(404, "session_not_found"));
    await using socket = await guest.connect();
    socket.subscribe(hidden.id, { flags: FLAGS, from: 0 });
    expect(await socket.errorCode()).toBe("session_not_found");
  });
});

test("a guest with a view link cannot type or resize, over HTTP or the WebSocket", async () => {
  const session = await startCat();
  const guest = guestOf(await owner.share(session, "view"));
  const path = `/api/sessions/${session.id}`;
  for (const [where, body] of [
    ["input", { text: "x" }],
    ["input", { key: "enter" }],
    ["input", { data: "eA==" }],
    ["resize", { cols: 10, rows: 10 }],
    ["markers", { label: "x" }],
  ] as const) {
    expect(await guest.ask(`${path}/${where}`, { body })).toMatchObject(refused(403, "forbidden"));
  }
  await using socket = await guest.connect();
  socket.subscribe(session.id, { flags: FLAGS, from: 0 });
  socket.type(session.id, "typed by the guest\r");
  socket.send(FrameType.INPUT_KEY, session.id, "enter");
  socket.send(FrameType.RESIZE, session.id, encodeSize({ cols: 10, rows: 10 }));
  for (let count = 0; count < 3; count++) expect(await socket.errorCode()).toBe("forbidden");
  await owner.ask(`${path}/input`, { body: { text: "the end\r" } });
  await socket.shows(/the end/);
  expect(new TextDecoder().decode(socket.output())).not.toContain("guest");
  expect((await owner.ask(path)).json).toMatchObject({ cols: 80, rows: 24 });
});

test("a guest who may type does, and resizes where the link says so", async () => {
  const session = await startCat();
  const guest = guestOf(await owner.share(session, "type", { resize: true }));
  expect((await guest.ask(`/api/sessions/${session.id}`)).json).toMatchObject({ mayResize: true });
  await using socket = await guest.connect();
  socket.subscribe(session.id, { flags: FLAGS, from: 0 });
  socket.send(FrameType.RESIZE, session.id, encodeSize({ cols: 100, rows: 30 }));
  socket.type(session.id, "typed by the guest\r");
  await socket.shows(/typed by the guest\r\ntyped by the guest/);
  expect((await owner.ask(`/api/sessions/${session.id}`)).json).toMatchObject({ cols: 100, rows: 30 });
});

test("a link is short and tells whoever has it nothing of the session, and one changed at any letter opens nothing", async () => {
  const session = await startCat();
  const { token, path } = await owner.share(session, "view");
  expect(path.length).toBeLessThan(50);
  expect(token).not.toContain(session.id);
  for (const at of [0, 15, 16, 17, token.length - 1]) {
    const other = token[at] === "A" ? "B" : "A";
    const changed = `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
    expect(await new Person(server, changed).ask(`/api/sessions/${session.id}`)).toMatchObject({
      status: 401,
    });
  }
});

test("a revoked link opens nothing, and its guests are disconnected within a second", async () => {
  const session = await startCat();
  const kept = await owner.share(session, "view");
  await using staying = await guestOf(kept).connect();
  const path = `/api/sessions/${session.id}/shares`;
  let revoked = kept;
  const left = async (): Promise<number> => {
    revoked = await owner.share(session, "type");
    await using leaving = await guestOf(revoked).connect();
    const at = performance.now();
    expect((await owner.ask(`${path}/${revoked.id}`, { method: "DELETE" })).status).toBe(200);
    expect((await leaving.closed()).code).toBe(LOGIN_OVER);
    return performance.now() - at;
  };
  expect(await bestTime(OUT_WITHIN_MS, left)).toBeLessThan(OUT_WITHIN_MS);
  await staying.settled();
  expect((await guestOf(revoked).ask(`/api/sessions/${session.id}`)).status).toBe(401);
  const { json } = await owner.ask(path);
  expect(json).toEqual([expect.objectContaining({ id: kept.id, mode: "view" })]);
  expect(await owner.ask(`${path}/${revoked.id}`, { method: "DELETE" })).toMatchObject(
    refused(404, "share_not_found"),
  );
});

test("what a guest began to type over HTTP is cut off when the link is revoked", async () => {
  const session = await startCat();
  const link = await owner.share(session, "type");
  const answer = await postWithoutBody(guestOf(link), `/api/sessions/${session.id}/input`);
  const path = `/api/sessions/${session.id}/shares/${link.id}`;
  expect((await owner.ask(path, { method: "DELETE" })).status).toBe(200);
  expect(await answer()).toBe("");
});

test("removing a session removes its links, which do not open a later session of the same id", async () => {
  const first = await owner.start({ command: ["cat"], cwd: "/" });
  const { id } = first;
  const guest = guestOf(await owner.share(first, "type"));
  await using socket = await guest.connect();
  await owner.ask(`/api/sessions/${id}`, { method: "DELETE" });
  await owner.ask(`/api/sessions/${id}`, { method: "DELETE" });
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  const admin = Person.named(server, userInfo().username);
  const second = await admin.start({ id, command: ["cat"], cwd: "/" });
  expect(second.created).not.toBe(first.created);
  expect((await guest.ask(`/api/sessions/${id}`)).status).toBe(401);
  expect((await admin.ask(`/api/sessions/${id}/shares`)).json).toEqual([]);
});

test("an ended session can still be looked at by its link", async () => {
  const session = await owner.start({ command: ["echo", "the result"], cwd: "/" });
  const guest = guestOf(await owner.share(session, "view"));
  await using socket = await guest.connect();
  socket.subscribe(session.id, { flags: FLAGS, from: 0 });
  await socket.event("exit");
  expect((await guest.ask(`/api/sessions/${session.id}/text`)).text).toContain("the result");
});

test("the file that lists the links holds nothing that opens a session, and is the server's alone", async () => {
  const session = await startCat();
  const { id, token } = await owner.share(session, "view");
  const file = join(server.controlDir, "logins.json");
  const text = await readFile(file, "utf8");
  expect(text).toContain(id);
  expect(text).not.toContain(token);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("links, and what was revoked of them, survive a restart of the server", async () => {
  await using own = await people.server({ asProcess: true });
  const me = Person.named(own, people.one);
  const session = await me.start({ command: ["cat"], cwd: "/" });
  const path = `/api/sessions/${session.id}`;
  const [kept, revoked] = await Promise.all(
    [0, 1].map(async () => NewShare.parse((await me.ask(`${path}/share`, { body: {} })).json)),
  );
  await me.ask(`${path}/shares/${revoked?.id}`, { method: "DELETE" });
  await own.restart();
  expect((await new Person(own, kept?.token ?? "").ask(path)).status).toBe(200);
  expect((await new Person(own, revoked?.token ?? "").ask(path)).status).toBe(401);
  expect((await me.ask(`${path}/shares`)).json).toEqual([expect.objectContaining({ id: kept?.id })]);
});

test("without logins there is no sharing", async () => {
  await using open = await TestServer.start();
  const { id } = await open.client().create({ command: ["cat"] });
  const nobody = new Person(open, "");
  expect(await nobody.ask(`/api/sessions/${id}/share`, { body: {} })).toMatchObject(
    refused(403, "forbidden"),
  );
});

describe("at an HQ", () => {
  test("users have their own sessions on its machines, also past the HQ's own routes, and share them there", async () => {
    await using hq = await people.server({ args: ["--hq", "--no-hq-auth"] });
    const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
    await using worker = await people.server({ args: to });
    const admin = new Person(hq, await logIn(hq));
    const [me, other] = [Person.named(hq, people.one), Person.named(hq, people.other)];
    const remoteId = await joined(admin);
    const mine = await me.start({ command: ["cat"], cwd: "/", remoteId });
    expect(mine).toMatchObject({ owner: people.one, source: "worker" });
    const admins = await admin.start({ command: ["cat"], cwd: "/", remoteId });
    expect(await other.listed()).toEqual([]);
    expect(await me.listed()).toEqual([mine.id]);
    expect(await admin.listed()).toEqual(expect.arrayContaining([mine.id, admins.id]));
    expect((await me.ask("/api/remotes")).json).toEqual([expect.objectContaining({ sessionIds: [] })]);
    const proxyPath = (id: string) => `/api/remotes/worker/proxy/sessions/${id}`;
    expect((await me.ask(proxyPath(mine.id))).status).toBe(200);
    expect(await other.ask(proxyPath(mine.id))).toMatchObject(refused(404, "session_not_found"));
    expect((await other.ask("/api/remotes/worker/proxy/sessions")).json).toEqual([]);
    expect((await Person.named(worker, people.one).ask(`/api/sessions/${mine.id}`)).status).toBe(200);
    const { json } = await me.ask(`/api/sessions/${mine.id}/share`, { body: { mode: "type" } });
    await using guest = await new Person(hq, NewShare.parse(json).token).connect();
    guest.subscribe(mine.id, { flags: FLAGS, from: 0 });
    guest.type(mine.id, "through the HQ\r");
    await guest.shows(/through the HQ/);
  });

  test("a user without all permissions can neither add nor remove a machine", async () => {
    await using hq = await people.server({ args: ["--hq", "--no-hq-auth"] });
    const me = Person.named(hq, people.one);
    const body = { id: "rogue", name: "rogue", url: "http://127.0.0.1:9", token: "t".repeat(40) };
    expect(await me.ask("/api/remotes/register", { body })).toMatchObject(refused(403, "forbidden"));
    expect(await me.ask("/api/remotes/any", { method: "DELETE" })).toMatchObject(refused(403, "forbidden"));
  });
});

function joined(admin: Person): Promise<string> {
  return eventually(async () => (await admin.ask("/api/remotes")).json[0]?.id, "the remote");
}

test("a link whose creator may not log in or share sessions any more opens nothing", async () => {
  await using before = await people.server({ asProcess: true });
  const { one: excluded, other: admitted, admin: demoted } = people;
  const links = await Promise.all(
    [excluded, admitted, demoted].map(async (name) => {
      const person = Person.named(before, name);
      const { id } = await person.start({ command: ["true"], cwd: "/" });
      const { json } = await person.ask(`/api/sessions/${id}/share`, { body: {} });
      return { path: `/api/sessions/${id}`, token: NewShare.parse(json).token };
    }),
  );
  await before.kill();
  await using after = await TestServer.start({
    args: ["--allow-user", admitted, "--role", `${demoted}=viewer`],
    controlDir: before.controlDir,
    env: { SERVICE_USERNAME: USERNAME, SERVICE_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET },
  });
  const answers = await Promise.all(links.map(({ token, path }) => new Person(after, token).ask(path)));
  expect(answers.map(({ status }) => status)).toEqual([401, 200, 401]);
});
