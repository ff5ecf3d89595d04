// An account that was closed after its user had logged in: expired, without a login shell, or removed.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { SystemUser } from "../auth/system-user.ts";
import type { Question } from "../harness/http.ts";
import { keepLogins } from "../harness/known-logins.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { Person } from "../harness/people.ts";
import { NO_LIMITS, TestServer } from "../harness/test-server.ts";

/** The accounts of the tests. */
const USERS = 6;
const refused = { status: 401, json: { code: "unauthorized", error: "this user may not log in here" } };

const QUESTIONS: readonly (readonly [string, Question])[] = [
  ["/api/sessions", { body: { command: ["touch", "/tmp/no"], cwd: "/" } }],
  ["/api/sessions", {}],
  ["/api/auth/verify", {}],
  ["/api/auth/ws-ticket", { method: "POST" }],
  ["/api/worktrees?repoPath=/", {}],
  ["/api/worktrees", { body: { repoPath: "/", branch: "side" } }],
  ["/api/git/repo-info?path=/", {}],
  ["/api/git/follow?path=/", {}],
  ["/api/repositories/discover?path=/", {}],
];

describe.runIf(process.getuid?.() === 0)("of a server that is root", () => {
  let server: TestServer;
  const owned = new AsyncDisposableStack();
  const free: SystemUser[] = [];
  /** A different one each time, with a login from before the server's start. */
  const nextUser = (): SystemUser => {
    const user = free.pop();
    if (user === undefined) throw new Error("more users than were made");
    return user;
  };

  beforeAll(async () => {
    for (let made = 0; made < USERS; made++) free.push(owned.use(await SystemUser.make()));
    const controlDir = await mkdtemp(join(tmpdir(), "ttyhq-"));
    const names = free.map(({ name }) => name);
    await keepLogins(controlDir, names);
    server = await TestServer.start({
      ...{ args: NO_LIMITS, controlDir },
      env: { SERVICE_USERNAME: USERNAME, SERVICE_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET },
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await owned.disposeAsync();
  });

  test.each([
    ["expired", ["--expiredate", "1"]],
    ["without a login shell", ["--shell", "/usr/sbin/nologin"]],
  ])(
    "a token of an account that is %s opens nothing, and does again when that is over",
    async (_, change) => {
      const user = nextUser();
      await user.modify(...change);
      const person = Person.named(server, user.name);
      for (const [path, question] of QUESTIONS) {
        expect([path, await person.ask(path, question)]).toMatchObject([path, refused]);
      }
      await expect(person.connect()).rejects.toThrow("401");
      await user.modify("--expiredate", "", "--shell", "/bin/sh");
      const works = async () => ((await person.ask("/api/sessions")).status === 200 ? true : undefined);
      await eventually(works, "the list of an account that was opened again");
    },
  );

  test("a token of an account that was removed opens nothing", async () => {
    const user = nextUser();
    await user.remove();
    expect(await Person.named(server, user.name).ask("/api/sessions")).toMatchObject(refused);
  });

  test("a share link of an account that was removed opens nothing", async () => {
    const user = nextUser();
    const person = Person.named(server, user.name);
    const { id } = await person.start({ command: ["true"], cwd: "/" });
    const share = await person.ask(`/api/sessions/${id}/share`, { body: {} });
    const guest = new Person(server, share.json.token);
    expect((await guest.ask(`/api/sessions/${id}`)).status).toBe(200);
    await user.remove();
    const isRefused = async () =>
      (await guest.ask(`/api/sessions/${id}`)).status === 401 ? true : undefined;
    await eventually(isRefused, "the end of the share link");
    expect(await guest.ask(`/api/sessions/${id}/text`)).toMatchObject(refused);
  });

  test("open connections end within a minute of the account's end, and its sessions accept no more input", async () => {
    const [user, other] = [nextUser(), nextUser()];
    const [person, neighbour] = [user, other].map(({ name }) => Person.named(server, name));
    if (person === undefined || neighbour === undefined) throw new Error("nobody");
    const { id } = await person.start({ command: ["cat"], cwd: "/" });
    const share = await person.ask(`/api/sessions/${id}/share`, { body: { mode: "type" } });
    const guest = new Person(server, share.json.token);
    await using guests = await guest.connect();
    await using socket = await person.connect();
    await using neighbours = await neighbour.connect();
    const stream = await fetch(`${server.url}/api/sessions/${id}/stream`, { headers: person.headers });
    const ended = stream.body?.pipeTo(new WritableStream()).then(
      () => "ended",
      () => "ended",
    );

    await user.modify("--expiredate", "1");
    const closedAt = performance.now();
    expect(await socket.closed()).toMatchObject({ code: 4401, reason: "account closed" });
    expect(await guests.closed()).toMatchObject({ code: 4401, reason: "account closed" });
    expect(await ended).toBe("ended");
    expect(performance.now() - closedAt).toBeLessThan(60_000);
    const input = { body: { text: "echo no\n" } };
    for (const each of [person, guest]) {
      expect(await each.ask(`/api/sessions/${id}/input`, input)).toMatchObject(refused);
    }
    expect(neighbours.isOpen).toBe(true);
  });
});
