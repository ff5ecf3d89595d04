// Every endpoint and every frame, for every role and every guest, at an HQ and through it at a remote.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FRAME_NEEDS, permits, type Rights, rightsOf } from "../../../src/auth/roles.ts";
import type { Endpoint } from "../../../src/protocol/endpoints/endpoint.ts";
import { type EndpointName, endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, encodeSubscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { NewApiToken } from "../../../src/protocol/schemas/login.ts";
import { type Permission, Role, TokenScope } from "../../../src/protocol/schemas/permission.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { NewShare, ShareMode } from "../../../src/protocol/schemas/share.ts";
import { type Answer, ask } from "../harness/http.ts";
import { logIn } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";
import { SystemUser } from "./system-user.ts";

const METHODS = { get: "GET", post: "POST", patch: "PATCH", delete: "DELETE" } as const;
/** Forwarded by an HQ; only its own endpoint creates sessions. */
const FORWARDED = /^\/api\/(?:sessions|worktrees|git|repositories|cleanup-exited)(?:\/|$)/;
/** For `sessions/nothing`, which has no POST. */
const FORWARDED_NEEDS: ReadonlyMap<EndpointName, Permission> = new Map([
  ["proxyGet", "sessions:view"],
  ["proxyPost", "remotes:manage"],
  ["proxyPatch", "sessions:manage"],
  ["proxyDelete", "sessions:manage"],
]);
const names = Object.keys(endpoints) as EndpointName[];

const isRoot = process.getuid?.() === 0;
const scope = new AsyncDisposableStack();
/** One user of each role; a user of this system if the server checks system passwords. */
const users = new Map<Role, string>();
const userOf = (role: Role): Person => Person.named(hq, users.get(role) ?? "");
let people: People;
let hq: TestServer;
let worker: TestServer;
let session: SessionRecord;
let guests: Readonly<Record<ShareMode, Person>>;
/** API tokens, by their scope. */
const programs = new Map<readonly Permission[], Person>();

beforeAll(async () => {
  people = await People.make();
  for (const role of Role.options) users.set(role, isRoot ? scope.use(await SystemUser.make()).name : role);
  const roles = Role.options.flatMap((role) => ["--role", `${users.get(role)}=${role}`]);
  const others = [...users.values()];
  hq = await people.server({ args: ["--hq", "--no-hq-auth", "--hq-sessions", ...roles], others });
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
  worker = await people.server({ args: to });
  const admin = new Person(hq, await logIn(hq));
  const remoteOf = async (): Promise<string | undefined> =>
    (await admin.ask("/api/remotes")).json.find((each: { name: string }) => each.name === "worker")?.id;
  const remoteId = await eventually(remoteOf, "the remote");
  session = await admin.start({ command: ["cat"], cwd: "/", remoteId });
  const guest = async (mode: ShareMode): Promise<Person> => {
    const { json } = await admin.ask(`/api/sessions/${session.id}/share`, { body: { mode } });
    return new Person(hq, NewShare.parse(json).token);
  };
  guests = { view: await guest("view"), type: await guest("type") };
  for (const [at, { role, scope }] of SCOPED.entries()) {
    const body = { name: `token-${at}`, scope, expiresIn: 3_600 };
    const made = await userOf(role).ask("/api/auth/tokens", { body });
    programs.set(scope, new Person(hq, NewApiToken.parse(made.json).token));
  }
});
afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await hq[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
  await scope.disposeAsync();
});

type Caller = { readonly who: () => Person; readonly rights: Rights };

/** Each permission that a token can have alone, and tokens of a lower role. */
const SCOPED: readonly { readonly role: Role; readonly scope: readonly TokenScope[] }[] = [
  ...TokenScope.options
    .filter((permission) => permission !== "sessions:manage")
    .map((permission) => ({ role: "admin" as const, scope: [permission] })),
  { role: "operator", scope: ["sessions:view", "sessions:control", "sessions:manage"] },
  { role: "viewer", scope: ["sessions:view", "remotes:view"] },
];

const CALLERS: readonly (readonly [string, Caller])[] = [
  ...Role.options.map((role): [string, Caller] => [
    `the role ${role}`,
    { who: () => userOf(role), rights: rightsOf(role) },
  ]),
  ...ShareMode.options.map((mode): [string, Caller] => [
    `a guest who may ${mode}`,
    {
      who: () => guests[mode],
      rights: { kind: "invited", session: { id: "", key: "" }, mode },
    },
  ]),
  ...SCOPED.map(({ role, scope }): [string, Caller] => [
    `an API token of the role ${role} for ${scope.join(", ")}`,
    { who: () => programs.get(scope) ?? userOf(role), rights: { ...rightsOf(role), scope } },
  ]),
];

/** Nothing of that name exists, so allowed requests have no effect. */
function pathOf({ path }: Pick<Endpoint, "path">): string {
  return path
    .replace("/proxy/*path", "/proxy/sessions/nothing")
    .replace(/:name\b/, "worker")
    .replaceAll(/:\w+/g, "nothing");
}

/** Refused for lack of a permission; a folder may also be forbidden to everybody. */
function isRefused({ status, text, json }: Answer): boolean {
  // Of an endless answer only the head was read.
  if (text === "") return status === 403;
  return json?.code === "forbidden" && /does not have|share link opens/.test(json.error);
}

async function asked(who: Person, name: EndpointName, path: string): Promise<Answer> {
  const method = METHODS[endpoints[name].method];
  const isHeadEnough = name === "serverEvents";
  return await who.ask(path, { method, isHeadEnough, ...(method === "GET" ? {} : { body: {} }) });
}

describe.each(CALLERS)("%s", (_, { who, rights }) => {
  test("has the endpoints of the table, and no others", async () => {
    const wrong: string[] = [];
    for (const name of names) {
      // Only the server's own socket returns a link.
      if (name === "createLoginLink") continue;
      const need = endpoints[name].need;
      const isAllowed = permits(rights, need) && permits(rights, FORWARDED_NEEDS.get(name) ?? need);
      const answer = await asked(who(), name, pathOf(endpoints[name]));
      const isKnown = need === "open" || answer.status !== 401;
      if (!isKnown || isRefused(answer) === isAllowed) wrong.push(`${name}: ${answer.status}`);
    }
    expect(wrong).toEqual([]);
  });

  test("has them through the HQ at a remote as well, and no others", async () => {
    const wrong: string[] = [];
    for (const name of names.filter((each) => FORWARDED.test(endpoints[each].path))) {
      if (name === "createSession") continue;
      const isAllowed = permits(rights, endpoints[name].need) && permits(rights, "remotes:view");
      const path = pathOf(endpoints[name]).replace(/^\/api/, "/api/remotes/worker/proxy");
      const answer = await asked(who(), name, path);
      if (answer.status === 401 || isRefused(answer) === isAllowed) wrong.push(`${name}: ${answer.status}`);
    }
    expect(wrong).toEqual([]);
  });

  test("has the frames of the table, and no others", async () => {
    await using socket = await who().connect();
    const flags = SubscribeFlag.Stdout | SubscribeFlag.Offsets;
    const payloads = new Map<number, Uint8Array | string>([
      [FrameType.HELLO, JSON.stringify({ client: "test" })],
      [FrameType.PING, ""],
      [FrameType.SUBSCRIBE, encodeSubscribe({ flags })],
      [FrameType.INPUT_TEXT, "x"],
      [FrameType.INPUT_KEY, "enter"],
      [FrameType.RESIZE, encodeSize({ cols: 80, rows: 24 })],
      [FrameType.KILL, "SIGWINCH"],
    ]);
    const wrong: string[] = [];
    for (const [type, need] of FRAME_NEEDS) {
      const before = socket.of(FrameType.ERROR).length;
      const isOfSession = type !== FrameType.HELLO && type !== FrameType.PING;
      socket.send(type, isOfSession ? session.id : "", payloads.get(type) ?? "");
      await socket.settled();
      const codes = socket
        .jsons(FrameType.ERROR)
        .slice(before)
        .map(({ code }) => code);
      if (codes.includes("forbidden") === permits(rights, need)) wrong.push(`${type}: ${codes}`);
    }
    expect(wrong).toEqual([]);
  });
});

test("without a login only open endpoints answer", async () => {
  const wrong: string[] = [];
  for (const name of names) {
    const method = METHODS[endpoints[name].method];
    const body = method === "GET" ? {} : { body: {} };
    const { json } = await ask(hq.url, pathOf(endpoints[name]), { method, ...body });
    // An HQ that admits machines without credentials has an open registry.
    const isOpen = endpoints[name].need === "open" || endpoints[name].access === "registry";
    if ((json?.code === "unauthorized") === isOpen) wrong.push(name);
  }
  expect(wrong).toEqual([]);
});

test("an operator and an auditor have everybody's sessions, a user and a viewer their own", async () => {
  const listed = await Promise.all(Role.options.map((role) => userOf(role).listed()));
  expect(listed).toEqual([[], [], [session.id], [session.id], [session.id]]);
  const recording = `/api/sessions/${session.id}/recording?follow=0`;
  expect((await userOf("auditor").ask(recording)).status).toBe(200);
  expect((await userOf("viewer").ask(recording)).status).toBe(404);
});

test.runIf(isRoot)("a group of the system gives its members a role", async () => {
  // Each user of the system has a group of that name.
  const args = ["--enable-ssh-keys", "--role", `%${people.one}=operator`];
  await using server = await people.server({ args });
  expect((await Person.named(server, people.one).ask("/metrics")).status).toBe(200);
  expect((await Person.named(server, people.other).ask("/metrics")).status).toBe(403);
});
