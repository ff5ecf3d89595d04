import { execFile } from "node:child_process";
import { chmod, chown, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { SystemUser } from "../auth/system-user.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { gitWorkers } from "../harness/git-workers.ts";
import type { Answer } from "../harness/http.ts";
import { People, Person } from "../harness/people.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { GitServer } from "./git-server.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

async function account(name: string): Promise<{ readonly uid: number; readonly gid: number }> {
  const [uid = 0, gid = 0] = await Promise.all(
    ["-u", "-g"].map(async (what) => Number((await run("id", [what, name])).stdout)),
  );
  return { uid, gid };
}

async function own(
  path: string,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): Promise<void> {
  await chown(path, uid, gid);
  const below = await readdir(path, { withFileTypes: true, recursive: true });
  await Promise.all(below.map((entry) => chown(join(entry.parentPath, entry.name), uid, gid)));
}

test.runIf(isRoot)(
  "of a server that is root, git runs as the user who asks, with that user's groups",
  async () => {
    await using room = await GitRoom.make();
    await chmod(room.path, 0o755);
    await using people = await People.make();
    await using server = await people.server();
    await using team = await SystemUser.make();
    const one = Person.named(server, people.one);
    const other = Person.named(server, people.other);
    const of = (repoPath: string): string => `/api/worktrees?${new URLSearchParams({ repoPath })}`;
    const owner = await account(people.one);

    const place = room.at("place");
    const repository = await room.repository("place/repo");
    await own(place, owner);
    const body = { repoPath: repository, branch: "side" };
    const added = await one.ask("/api/worktrees", { body });
    expect(added).toMatchObject({ status: 201, json: { path: `${repository}-side` } });
    expect((await stat(`${repository}-side/a.txt`)).uid).toBe(owner.uid);
    expect((await stat(join(repository, ".git/worktrees"))).uid).toBe(owner.uid);
    expect((await one.ask(of(repository))).json.worktrees).toHaveLength(2);

    // git does not trust a repository of another user, including root's.
    expect(await other.ask(of(repository))).toMatchObject({ status: 403, json: { code: "forbidden" } });
    const roots = await room.repository("roots");
    expect(await one.ask(of(roots))).toMatchObject({ status: 403, json: { code: "forbidden" } });
    const admin = Person.named(server, people.admin);
    expect(await admin.ask(of(repository))).toMatchObject({ status: 403, json: { code: "forbidden" } });

    // A user does not see unreadable files, but those of a group of theirs.
    const hidden = await room.repository("hidden/repo");
    await own(hidden, owner);
    await chown(room.at("hidden"), 0, team.gid);
    await chmod(room.at("hidden"), 0o750);
    expect(await one.ask(of(hidden))).toMatchObject({ status: 404, json: { code: "not_a_repository" } });
    const discover = async (): Promise<Answer> =>
      one.ask(`/api/repositories/discover?${new URLSearchParams({ path: room.path })}`);
    expect(paths(await discover())).not.toContain(hidden);
    await run("usermod", ["--append", "--groups", team.name, people.one]);
    // A worker keeps the groups of its start, like a login; it is replaced after a minute.
    for (const pid of await gitWorkers(server.controlDir)) process.kill(pid, "SIGKILL");
    const areGone = async () => (await gitWorkers(server.controlDir)).length === 0 || undefined;
    await eventually(areGone, "no git worker");
    // A request at the moment of the end fails, and says to try again.
    const isSeen = async () => (await one.ask(of(hidden))).status === 200 || undefined;
    await eventually(isSeen, "the repository of the group");
    expect(paths(await discover())).toContain(hidden);

    // ~ is the home of the caller.
    const info = await one.ask("/api/git/repo-info?path=~/nothing");
    expect(info).toMatchObject({ status: 200, json: { isGitRepo: false } });
  },
);

test("every change is in the audit log, and what was refused", async () => {
  await using server = await GitServer.start();
  const repository = await server.room.repository();
  const audit = new AuditLog(server.server.controlDir);
  await server.add({ repoPath: repository, branch: "side" });
  await server.add({ repoPath: repository, branch: "side" });
  await server.post("worktrees/prune", { gitRepoPath: repository });
  await server.post("worktrees/switch", { repoPath: repository, branch: "main" });
  await server.remove("side", { repoPath: repository });
  const line = await audit.line(({ action }) => action === "worktree.remove", "the removal");
  expect(line).toMatchObject({ result: "ok", details: { repoPath: repository, path: `${repository}-side` } });
  const lines = (await audit.lines()).filter(({ action }) => action.startsWith("worktree."));
  expect(lines.map(({ action, result, details }) => [action, result, details?.repoPath])).toEqual([
    ["worktree.create", "ok", repository],
    ["worktree.create", "failed", repository],
    ["worktree.prune", "ok", repository],
    ["worktree.switch", "ok", repository],
    ["worktree.remove", "ok", repository],
  ]);
});

test("a remote's repositories are reached through its HQ, which has none of its own", async () => {
  await using room = await GitRoom.make();
  await using fleet = await TestFleet.start();
  const repository = await room.repository();
  const query = new URLSearchParams({ repoPath: repository });
  const proxy = "/api/remotes/worker-1/proxy/api";
  const body = { repoPath: repository, branch: "feature/x" };
  expect(await fleet.ask(`${proxy}/worktrees`, { body })).toMatchObject({ status: 201 });
  const list = await fleet.ask(`${proxy}/worktrees?${query}`);
  expect(list.json.worktrees).toHaveLength(2);
  const removed = await fleet.ask(`${proxy}/worktrees/feature%2Fx?${query}`, { method: "DELETE" });
  expect(removed).toMatchObject({ status: 200, json: { removedPath: `${repository}-feature-x` } });
  expect(await fleet.ask(`/api/worktrees?${query}`)).toMatchObject({
    status: 404,
    json: { code: "not_found" },
  });
});

function paths({ json }: Answer): readonly string[] {
  return json.map(({ path }: { readonly path: string }) => path);
}
