// The system calls of the server process while it serves users: it runs no program of theirs, and opens no file that
// they control.
import { execFile } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { chmod, chown, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { SystemUser } from "../auth/system-user.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { ask } from "../harness/http.ts";
import { PASSWORD } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import { type SystemCall, SystemCallTrace } from "../harness/system-calls.ts";
import { TestServer } from "../harness/test-server.ts";

const run = promisify(execFile);
/** The process without secrets that the server asks about users. */
const ACCOUNTS_PROGRAM = /account-worker\./;

type User = { readonly name: string; readonly uid: number; readonly gid: number; readonly home: string };

test.runIf(process.getuid?.() === 0)(
  "a server that is root runs no program and opens no file of its users, whatever they have it do",
  async () => {
    await using room = await GitRoom.make();
    await chmod(room.path, 0o755);
    await using people = await People.make();
    await using third = await SystemUser.make();
    await using server = await people.server({
      asProcess: true,
      args: ["--allow-user", third.name, "--enable-ssh-keys"],
      others: [third.name],
    });
    const users = await Promise.all([people.one, people.other, third.name].map(userOf));
    const repositories = new Map<string, string>();
    for (const user of users) repositories.set(user.name, await ownRepository(room, user));
    await using trace = await SystemCallTrace.of(server.pid);
    for (const user of users)
      await everything(Person.named(server, user.name), user, repositories.get(user.name) ?? "");
    const calls = await trace.calls();
    const places = [room.path, ...users.map(({ home }) => home)];
    expect(calls.length).toBeGreaterThan(0);
    expect(foreignPrograms(calls)).toEqual([]);
    expect(openedIn(calls, places).filter((text) => !/authorized_keys2?"/.test(text))).toEqual([]);
    const sockets = calls.filter(
      ({ name, text, child }) => name === "connect" && child === undefined && text.includes("AF_UNIX"),
    );
    const isHost = hostSocket(calls, `${server.controlDir}/host.sock`);
    expect(sockets.filter(({ text }) => !isHost(text))).toEqual([]);
  },
);

/** Whether a connection leads to the socket at that path, without following links. */
function hostSocket(calls: readonly SystemCall[], path: string): (text: string) => boolean {
  const found = calls.flatMap(({ text }) => {
    const isExact = text.includes(`"${path}"`) && /O_NOFOLLOW/.test(text) && /O_PATH/.test(text);
    return isExact ? [/ = (\d+)/.exec(text)?.[1]] : [];
  });
  return (text) => found.some((fd) => fd !== undefined && text.includes(`"/proc/self/fd/${fd}"`));
}

test.runIf(process.getuid?.() === 0)(
  "a login with a password of the system runs its program in an account worker, not in the server",
  async () => {
    await using user = await SystemUser.make();
    const changing = run("chpasswd");
    changing.child.stdin?.end(`${user.name}:${PASSWORD}\n`);
    await changing;
    await using server = await TestServer.start({ asProcess: true, args: ["--session-host", "inline"] });
    await using trace = await SystemCallTrace.of(server.pid);
    const body = { username: user.name, password: PASSWORD };
    expect((await ask(server.url, "/api/auth/token", { body })).status).toBe(200);
    const calls = await trace.calls();
    const asksPam = calls.filter(({ name, text }) => name === "execve" && text.includes("ttyhq-pam"));
    expect(asksPam.length).toBeGreaterThan(0);
    expect(foreignPrograms(calls)).toEqual([]);
    // It has no arguments: name and password go through its standard input.
    for (const { text } of asksPam) expect(text).toMatch(/ttyhq-pam", \["[^"]*ttyhq-pam"\], /);
  },
);

/** All repository and key operations that a user can request of the server. */
async function everything(person: Person, user: User, repoPath: string): Promise<void> {
  const tree = `${repoPath}-side`;
  const ask = async (path: string, body?: unknown): Promise<number> =>
    (await person.ask(`/api/${path}`, body === undefined ? {} : { body })).status;
  const query = new URLSearchParams({ repoPath });
  const { id } = await person.start({ command: ["cat"], cwd: repoPath });
  await eventually(
    async () => (await person.ask(`/api/sessions/${id}`)).json.gitBranch === "main" || undefined,
    "the branch of the session",
  );
  expect(await ask("worktrees", { repoPath, branch: "side" })).toBe(201);
  for (const path of [
    "worktrees",
    "git/status",
    "git/repository-info",
    "git/remote",
    "repositories/branches",
  ])
    expect(await ask(`${path}?${query}`)).toBe(200);
  expect(await ask("git/repo-info?repoPath=~/nothing")).toBe(200);
  expect(await ask(`repositories/discover?${new URLSearchParams({ path: repoPath })}`)).toBe(200);
  expect(await ask("worktrees/follow", { repoPath, branch: "side", enable: true })).toBe(200);
  const { uid, gid, home } = user;
  await run("git", ["commit", "--quiet", "--allow-empty", "-m", "hooked"], {
    ...{ cwd: tree, uid, gid, env: { HOME: home, PATH: process.env.PATH } },
  });
  await eventually(async () => {
    const { stdout } = await run("git", ["log", "-1", "--format=%s"], { cwd: repoPath, uid, gid });
    return stdout.trim() === "hooked" || undefined;
  }, "the commit in the main tree");
  expect(await ask("git/event", { repoPath })).toBe(200);
  expect(await ask("git/notifications")).toBe(200);
  expect(await ask(`auth/avatar/${user.name}`)).toBe(200);
  expect(await ask("worktrees/follow", { repoPath, enable: false })).toBe(200);
  const removed = await person.ask(`/api/worktrees/side?${query}&force=true`, { method: "DELETE" });
  expect(removed.status).toBe(200);
  expect(await logInByKey(person, user)).toBe(200);
  await person.ask(`/api/sessions/${id}`, { method: "DELETE" });
}

async function logInByKey(person: Person, { name, home, uid, gid }: User): Promise<number> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  const field = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const line = `ssh-ed25519 ${Buffer.concat([field(Buffer.from("ssh-ed25519")), field(raw)]).toString("base64")}`;
  const folder = join(home, ".ssh");
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, "authorized_keys"), `${line}\n`, { mode: 0o600 });
  for (const path of [folder, join(folder, "authorized_keys")]) await chown(path, uid, gid);
  const { json } = await person.ask("/api/auth/challenge", { body: { userId: name } });
  const signature = sign(null, Buffer.from(json.challenge, "base64"), privateKey).toString("base64");
  const body = { challengeId: json.challengeId, publicKey: line, signature };
  return (await person.ask("/api/auth/ssh-login", { body })).status;
}

function foreignPrograms(calls: readonly SystemCall[]): readonly string[] {
  const own = new Set(
    calls
      .filter(({ name, text }) => name.startsWith("execve") && ACCOUNTS_PROGRAM.test(text))
      .map(({ child }) => child),
  );
  return calls
    .filter(({ name, child }) => name.startsWith("execve") && !own.has(child))
    .map(({ text }) => text);
}

function openedIn(calls: readonly SystemCall[], places: readonly string[]): readonly string[] {
  return calls
    .filter(({ name, child }) => child === undefined && name !== "connect")
    .map(({ text }) => text)
    .filter((text) => places.some((place) => text.includes(`"${place}`)));
}

async function userOf(name: string): Promise<User> {
  const { stdout } = await run("getent", ["passwd", name]);
  const [, , uid, gid, , home = ""] = stdout.trim().split(":");
  return { name, uid: Number(uid), gid: Number(gid), home };
}

/** A repository of that user, whose own config would have git run programs. */
async function ownRepository(room: GitRoom, { name, uid, gid, home }: User): Promise<string> {
  await mkdir(room.at(name));
  const path = await room.repository(join(name, "repo"));
  const config = [
    "[user]",
    `name = ${name}`,
    "email = user@example.com",
    "[core]",
    "fsmonitor = true",
    "",
  ].join("\n");
  await writeFile(join(home, ".gitconfig"), config);
  const below = await readdir(room.at(name), { withFileTypes: true, recursive: true });
  for (const one of [room.at(name), ...below.map((entry) => join(entry.parentPath, entry.name))])
    await chown(one, uid, gid);
  return path;
}
