import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GitProgram } from "../../../src/git/git.ts";
import { Worktrees } from "../../../src/git/worktrees/worktrees.ts";
import type { GitRoom } from "../harness/git-repository.ts";
import { GitServer } from "./git-server.ts";

let server: GitServer;
let room: GitRoom;
let names = 0;

beforeAll(async () => {
  server = await GitServer.start();
  room = server.room;
});
afterAll(() => server?.[Symbol.asyncDispose]());

const fresh = (): Promise<string> => room.repository(`r${++names}`);

/** State that a failed creation must leave unchanged. */
async function traces(repository: string): Promise<unknown> {
  const beside = (await readdir(room.path)).filter((name) => name.startsWith(`r${names}`));
  const refs = await room.git(repository, "for-each-ref");
  const trees = await room.git(repository, "worktree", "list", "--porcelain");
  const config = await readFile(join(repository, ".git/config"), "utf8");
  return { beside, refs, trees, config };
}

describe("POST /api/worktrees", () => {
  test("makes a new branch at what is checked out, in a folder beside the repository", async () => {
    const repository = await fresh();
    const answer = await server.add({ repoPath: repository, branch: "feature/ä b".replace(" b", "_b") });
    expect(answer).toMatchObject({
      status: 201,
      json: { path: `${repository}-feature---_b`.replace("---", "--"), branch: "feature/ä_b" },
    });
    expect(existsSync(join(answer.json.path, "a.txt"))).toBe(true);
    expect(await room.git(answer.json.path, "branch", "--show-current")).toBe("feature/ä_b");
  });

  test("names the folder after the main worktree, wherever it was asked for", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    const commit = await room.commit(tree);
    const answer = await server.add({ repoPath: tree, branch: "next" });
    expect(answer.json.path).toBe(`${repository}-next`);
    expect(await room.git(answer.json.path, "rev-parse", "HEAD")).toBe(commit);
  });

  test("begins the branch at baseBranch: a branch, one of a remote, which it then tracks, or a tag", async () => {
    const repository = await fresh();
    const first = await room.git(repository, "rev-parse", "HEAD");
    await room.git(repository, "tag", "v1");
    const clone = room.at(`clone${names}`);
    await room.git(repository, "branch", "develop");
    await room.git(room.path, "clone", "--quiet", repository, clone);
    await room.commit(clone);
    const head = async (branch: string, baseBranch: string): Promise<string> => {
      const { json } = await server.add({ repoPath: clone, branch, baseBranch });
      return await room.git(json.path, "rev-parse", "HEAD");
    };
    expect(await head("one", "origin/develop")).toBe(first);
    expect(await room.git(clone, "rev-parse", "--abbrev-ref", "one@{upstream}")).toBe("origin/develop");
    expect(await head("two", "main")).toBe(await room.git(clone, "rev-parse", "main"));
    expect(await head("three", "v1")).toBe(first);
    // Without one, a branch of that name on the only remote.
    expect(await server.add({ repoPath: clone, branch: "develop" })).toMatchObject({ status: 201 });
    expect(await room.git(clone, "rev-parse", "--abbrev-ref", "develop@{upstream}")).toBe("origin/develop");
  });

  test("checks a branch out that there is", async () => {
    const repository = await fresh();
    await room.git(repository, "branch", "side");
    const path = room.at(`r${names} elsewhere/ü\nx`);
    const answer = await server.add({ repoPath: repository, branch: "refs/heads/side", path });
    expect(answer).toMatchObject({ status: 201, json: { path, branch: "side", worktreePath: path } });
    expect(await server.tree(repository, path)).toMatchObject({ branch: "refs/heads/side" });
  });

  test.each([
    ["a..b", 400, "invalid_branch_name"],
    ["-b", 400, "invalid_branch_name"],
    ["main", 409, "branch_checked_out"],
  ])("refuses the branch %s", async (branch, status, code) => {
    const repository = await fresh();
    const before = await traces(repository);
    expect(await server.add({ repoPath: repository, branch })).toMatchObject({ status, json: { code } });
    expect(await traces(repository)).toEqual(before);
  });

  test("refuses a base that there is not, a branch that there is, and a path that is taken", async () => {
    const repository = await fresh();
    await room.git(repository, "branch", "side");
    await room.write(room.at(`r${names}-taken/file`), "mine\n");
    const before = await traces(repository);
    const refused = async (body: Readonly<Record<string, string>>): Promise<unknown> => {
      const { status, json } = await server.add({ repoPath: repository, ...body });
      return [status, json.code];
    };
    expect(await refused({ branch: "new", baseBranch: "nope" })).toEqual([404, "branch_not_found"]);
    expect(await refused({ branch: "new", baseBranch: "--x" })).toEqual([400, "invalid_branch_name"]);
    expect(await refused({ branch: "side", baseBranch: "main" })).toEqual([409, "branch_exists"]);
    expect(await refused({ branch: "taken" })).toEqual([409, "worktree_path_exists"]);
    const inside = join(repository, ".git/tree");
    expect(await refused({ branch: "new", path: inside })).toEqual([400, "invalid_request"]);
    expect(await traces(repository)).toEqual(before);
  });

  test("leaves nothing behind where git fails half-way", async () => {
    const repository = await fresh();
    await room.write(join(repository, ".gitattributes"), "a.txt filter=broken\n");
    await room.commit(repository);
    await room.git(repository, "config", "filter.broken.smudge", "exit 1");
    await room.git(repository, "config", "filter.broken.required", "true");
    const before = await traces(repository);
    const path = room.at(`r${names}-deep/er/tree`);
    const answer = await server.add({ repoPath: repository, branch: "new", baseBranch: "main", path });
    expect(answer).toMatchObject({ status: 500, json: { code: "git_failed" } });
    expect(answer.json.details.git).toContain("smudge filter broken failed");
    expect(await traces(repository)).toEqual(before);
  });

  test("leaves nothing behind where git fails half-way and nobody waits for it any more", async () => {
    const repository = await fresh();
    const [begun, gate] = [room.at(`begun${names}`), room.at(`gate${names}`)];
    await room.write(join(repository, ".gitattributes"), "a.txt filter=slow\n");
    await room.commit(repository);
    const filter = await room.script(
      room.at(`filter${names}`),
      `: > '${begun}'; read line < '${gate}'; exit 1`,
    );
    await room.git(repository, "config", "filter.slow.smudge", filter);
    await room.git(repository, "config", "filter.slow.required", "true");
    execFileSync("mkfifo", [gate]);
    const before = await traces(repository);
    const client = new AbortController();
    const worktrees = new Worktrees({
      program: room.program,
      follow: { enable: async () => {}, changed: async () => {} },
      now: () => performance.now(),
    });
    const adding = worktrees.add(repository, { branch: "new" }, { signal: client.signal });
    adding.catch(() => undefined);
    await expect.poll(() => existsSync(begun)).toBe(true);
    client.abort();
    await using opened = await open(gate, "r+");
    await opened.write("go\n");
    await expect(adding).rejects.toMatchObject({ code: "git_failed" });
    expect(await traces(repository)).toEqual(before);
  });

  test.each([
    // git locks a worktree for that reason while it checks the files out.
    ["is making", "lock --reason initializing"],
    ["has just made", "unlock"],
  ])("leaves a worktree that another process %s at that path", async (_, then) => {
    const repository = await fresh();
    const [bin, path] = [room.at(`bin${names}`), room.at(`r${names}-both`)];
    const { PATH } = room.env;
    await room.script(
      join(bin, "git"),
      `export PATH='${PATH}'
      case "$*" in *"worktree add"*)
        git -C '${repository}' worktree add --quiet -b other '${path}' >/dev/null 2>&1
        git -C '${repository}' worktree ${then} '${path}' 2>/dev/null ;;
      esac
      exec git "$@"`,
    );
    const worktrees = new Worktrees({
      program: new GitProgram({ env: { ...room.env, PATH: `${bin}:${PATH}` } }),
      follow: { enable: async () => {}, changed: async () => {} },
      now: () => performance.now(),
    });
    const adding = worktrees.add(repository, { branch: "new", path }, {});
    await expect(adding).rejects.toMatchObject({ code: "worktree_path_exists" });
    expect(await room.git(path, "branch", "--show-current")).toBe("other");
    expect(await room.git(repository, "branch", "--list", "new")).toBe("");
  });

  test("is not undone by a post-checkout hook that fails", async () => {
    const repository = await fresh();
    await room.script(join(repository, ".git/hooks/post-checkout"), "exit 3");
    expect(await server.add({ repoPath: repository, branch: "new" })).toMatchObject({ status: 201 });
    expect(await server.tree(repository, `${repository}-new`)).toMatchObject({ locked: false });
  });

  test("is not undone by a post-checkout hook that git is ended for, and says that it was made", async () => {
    const repository = await fresh();
    // As a hook that takes longer than a command may.
    const hook = "head -c 20000000 /dev/zero >&2; sleep 600";
    await room.script(join(repository, ".git/hooks/post-checkout"), hook);
    expect(await server.add({ repoPath: repository, branch: "new" })).toMatchObject({ status: 201 });
    expect(await server.tree(repository, `${repository}-new`)).toMatchObject({ locked: false });
  });

  test("runs the hooks of a relative core.hooksPath", async () => {
    const repository = await fresh();
    await room.script(join(repository, ".husky/post-checkout"), `pwd > ${room.at("hook-ran")}`);
    await room.git(repository, "config", "core.hooksPath", ".husky");
    const { json } = await server.add({ repoPath: repository, branch: "new" });
    expect((await readFile(room.at("hook-ran"), "utf8")).trim()).toBe(json.path);
  });

  test("runs concurrent requests one after the other", async () => {
    const repository = await fresh();
    const branches = ["one", "two", "three", "one"];
    const answers = await Promise.all(branches.map((branch) => server.add({ repoPath: repository, branch })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409]);
    expect((await server.list(repository)).worktrees).toHaveLength(4);
  });
});
