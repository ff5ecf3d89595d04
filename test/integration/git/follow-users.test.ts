// Follow mode of a server that runs as root, for system users: their files keep their owners.
import { execFile } from "node:child_process";
import { chmod, chown, lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findSystemAccount, type SystemAccount } from "../../../src/lib/os/system-account.ts";
import { GitRoom } from "../harness/git-repository.ts";
import type { Answer } from "../harness/http.ts";
import { People, Person } from "../harness/people.ts";

const run = promisify(execFile);
/** Only root can start a program as another user. */
const asRoot = test.runIf(process.getuid?.() === 0);

/** A repository of a user, with a worktree on the branch `side`. */
class UsersRepository implements AsyncDisposable {
  readonly path: string;
  readonly account: SystemAccount;
  readonly #room: GitRoom;

  private constructor(room: GitRoom, account: SystemAccount) {
    this.#room = room;
    this.account = account;
    this.path = room.at("place/repo");
  }

  static async of(user: string): Promise<UsersRepository> {
    const account = await findSystemAccount(user);
    if (account === undefined) throw new Error(`there is no user ${user}`);
    const room = await GitRoom.make();
    await chmod(room.path, 0o755);
    const repository = new UsersRepository(room, account);
    await room.repository("place/repo");
    await room.worktree(repository.path, "side", repository.tree);
    await room.git(repository.path, "config", "user.name", user);
    await room.git(repository.path, "config", "user.email", "user@example.com");
    for (const path of [repository.place, ...(await everythingIn(repository.place))]) {
      await chown(path, account.uid, account.gid);
    }
    return repository;
  }

  get place(): string {
    return this.#room.at("place");
  }

  get tree(): string {
    return this.#room.at("place/tree");
  }

  /** git as that user runs it. */
  async git(cwd: string, ...args: readonly string[]): Promise<string> {
    const { uid, gid, home } = this.account;
    const env = { HOME: home, PATH: process.env.PATH };
    const { stdout } = await run("git", args, { cwd, uid, gid, env });
    return stdout.trim();
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(path, text);
    await chown(path, this.account.uid, this.account.gid);
  }

  /** Files and folders that belong to others. */
  async strangers(): Promise<readonly string[]> {
    const { uid, gid } = this.account;
    const found = await Promise.all(
      (await everythingIn(this.place)).map(async (path) => {
        // Files that have vanished were locks of git.
        const stats = await lstat(path).catch(() => undefined);
        return stats === undefined || (stats.uid === uid && stats.gid === gid) ? [] : [path];
      }),
    );
    return found.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#room[Symbol.asyncDispose]();
  }
}

async function everythingIn(path: string): Promise<readonly string[]> {
  const below = await readdir(path, { withFileTypes: true, recursive: true });
  return below.map((entry) => join(entry.parentPath, entry.name));
}

function follow(person: Person, { path }: UsersRepository, enable = true): Promise<Answer> {
  return person.ask("/api/worktrees/follow", { body: { repoPath: path, branch: "side", enable } });
}

/** The expected state. */
asRoot("follow mode of a user leaves nothing of root's in the repository, on, at work or off", async () => {
  await using people = await People.make();
  await using repository = await UsersRepository.of(people.one);
  await using server = await people.server();
  const one = Person.named(server, people.one);
  const { path, tree } = repository;
  expect(await follow(one, repository)).toMatchObject({ status: 200, json: { synced: true } });
  expect(await repository.strangers()).toEqual([]);
  await repository.git(tree, "commit", "--quiet", "--allow-empty", "-m", "one");
  await expect
    .poll(() => repository.git(path, "log", "-1", "--walk-reflogs", "--format=%gs"))
    .toBe("ttyhq: brought along");
  expect(await repository.strangers()).toEqual([]);
  expect(await follow(one, repository, false)).toMatchObject({ status: 200 });
  expect(await repository.strangers()).toEqual([]);
  expect((await readdir(join(path, ".git/hooks"))).filter((name) => !name.endsWith(".sample"))).toEqual([]);
});

asRoot("hooks are written as the user, so that no config leads a server of root elsewhere", async () => {
  await using people = await People.make();
  await using repository = await UsersRepository.of(people.one);
  await using server = await people.server();
  await using room = await GitRoom.make();
  await chmod(room.path, 0o755);
  const roots = room.at("roots");
  await mkdir(roots);
  await room.write(join(roots, "post-commit"), "root's\n");
  const one = Person.named(server, people.one);
  await repository.git(repository.path, "config", "core.hooksPath", roots);
  const { json } = await follow(one, repository);
  expect(json).toMatchObject({ enabled: true, hooksInstalled: false });
  expect(json.steps).toContain(`git hook post-commit in ${roots}: may not be written, and is left out`);
  expect([await readdir(roots), await readFile(join(roots, "post-commit"), "utf8")]).toEqual([
    ["post-commit"],
    "root's\n",
  ]);
  // It follows all the same: the server watches git's own files.
  const { path, tree } = repository;
  await repository.git(tree, "commit", "--quiet", "--allow-empty", "-m", "one");
  const head = await repository.git(tree, "rev-parse", "HEAD");
  await expect
    .poll(() => repository.git(path, "log", "-1", "--walk-reflogs", "--format=%H %gs"))
    .toBe(`${head} ttyhq: brought along`);
  expect(await follow(one, repository, false)).toMatchObject({ status: 200 });
  expect(await readdir(roots)).toEqual(["post-commit"]);
});

asRoot(
  "nobody turns follow mode on or off, or has a check made, in a repository of somebody else",
  async () => {
    await using people = await People.make();
    await using repository = await UsersRepository.of(people.one);
    await using server = await people.server();
    const [one, other] = [Person.named(server, people.one), Person.named(server, people.other)];
    const refused = { status: 403, json: { code: "forbidden" } };
    expect(await follow(other, repository)).toMatchObject(refused);
    await follow(one, repository);
    expect(await follow(other, repository, false)).toMatchObject(refused);
    const event = { body: { repoPath: repository.path, event: "commit" } };
    expect(await other.ask("/api/git/event", event)).toMatchObject(refused);
    expect((await other.ask("/api/git/notifications")).json).toEqual({ notifications: [] });
    await chmod(repository.place, 0o700);
    const unseen = { status: 404, json: { code: "not_a_repository" } };
    expect(await other.ask("/api/git/event", event)).toMatchObject(unseen);
    expect(await follow(other, repository)).toMatchObject(unseen);
    expect(await one.ask("/api/git/event", event)).toMatchObject({ status: 200, json: { followMode: true } });
  },
);

asRoot("what a user says of whose repositories are safe takes follow mode from nobody", async () => {
  await using people = await People.make();
  await using repository = await UsersRepository.of(people.one);
  await using server = await people.server();
  const [one, other] = [Person.named(server, people.one), Person.named(server, people.other)];
  const { path, tree } = repository;
  const account = await findSystemAccount(people.other);
  await writeFile(join(account?.home ?? "", ".gitconfig"), "[safe]\n\tdirectory = *\n");
  await follow(one, repository);
  expect((await follow(other, repository)).status).toBeGreaterThanOrEqual(400);
  expect((await follow(other, repository, false)).status).toBeGreaterThanOrEqual(400);
  await repository.git(tree, "commit", "--quiet", "--allow-empty", "-m", "one");
  await expect
    .poll(() => repository.git(path, "log", "-1", "--walk-reflogs", "--format=%gs"))
    .toBe("ttyhq: brought along");
  expect((await other.ask("/api/git/notifications")).json).toEqual({ notifications: [] });
});

asRoot(
  "a user's hook finds a server of root, and has it check that repository, before and after a restart",
  async () => {
    await using people = await People.make();
    await using repository = await UsersRepository.of(people.one);
    await using server = await people.server({ asProcess: true });
    const { path, tree, account } = repository;
    const one = Person.named(server, people.one);
    await follow(one, repository);
    // Earlier requested checks are over then.
    const rest = async (): Promise<void> => {
      for (let poll = 0; poll < 3; poll += 1) await one.ask("/api/git/event", { body: { repoPath: path } });
    };
    const hook = join(path, ".git/hooks/post-commit");
    expect(await readFile(hook, "utf8")).not.toContain(server.controlDir);
    for (const word of ["one", "two"]) {
      // Held back by an edit; git reports nothing when the edit is undone.
      const before = await readFile(join(path, "a.txt"), "utf8");
      await repository.write(join(path, "a.txt"), "in the way\n");
      await repository.write(join(tree, "a.txt"), `${word}\n`);
      await repository.git(tree, "commit", "--quiet", "--all", "-m", word);
      await expect.poll(() => repository.git(path, "branch", "--show-current")).toBe("");
      if (word === "two") await server.restart();
      await rest();
      await repository.write(join(path, "a.txt"), before);
      await run(hook, { cwd: tree, uid: account.uid, gid: account.gid, env: { PATH: "/usr/bin:/bin" } });
      await expect.poll(() => readFile(join(path, "a.txt"), "utf8")).toBe(`${word}\n`);
      // The file exists before the branch does.
      await rest();
    }
    expect(await repository.strangers()).toEqual([]);
  },
);
