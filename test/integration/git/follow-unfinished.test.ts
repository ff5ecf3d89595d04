// Unfinished operations of a tree: git keeps them beside the files, and would drop them at a checkout.
import { expect, test } from "vitest";
import { atRest, prepared, together } from "./follow-checks.ts";
import { FollowRepository, type WorkTree } from "./follow-repository.ts";

const NEW_BRANCH = ["switch", "--quiet", "--create", "new"];
const NO_BRANCH = ["switch", "--quiet", "--detach"];
const EDITOR = ["-c", "core.editor=true"];

/** The commit of an unfinished operation. */
const under = (tree: WorkTree, name: string): Promise<string> => tree.git("rev-parse", "--verify", name);

/** Both `feature` and `side` have a file of one name. */
async function atOdds(): Promise<FollowRepository> {
  const repository = await prepared();
  await repository.tree.commit("side.txt", "ours\n");
  await repository.settled();
  return repository;
}

async function resolved(tree: WorkTree): Promise<void> {
  await tree.write("side.txt", "both\n");
  await tree.git("add", "side.txt");
}

/** A cherry-pick or a revert in the main tree that stopped at a conflict, which is resolved. */
async function stopped(repository: FollowRepository, command: string, commit: string): Promise<void> {
  const { main } = repository;
  if (command === "revert") await main.commit("side.txt", "ours again\n");
  await repository.settled();
  expect(await main.refused(command, "--no-edit", commit)).not.toBe("");
  await resolved(main);
}

test.each([
  ["to another branch", NEW_BRANCH],
  ["to a commit", NO_BRANCH],
])("a merge in the main tree is not dropped where the worktree goes %s", async (_, leave) => {
  await using repository = await prepared();
  const { main, tree } = repository;
  await main.git("merge", "--quiet", "--no-commit", "--no-ff", "side");
  await tree.git(...leave);
  await tree.commit("next.txt", "next\n");
  await repository.settled();
  expect([await main.branch(), await under(main, "MERGE_HEAD")]).toEqual([
    "feature",
    await main.git("rev-parse", "side"),
  ]);
  expect(repository.told()).toMatchObject([
    { level: "error", title: "Sync Failed", message: expect.stringContaining("a merge is under way") },
  ]);
  await main.git("commit", "--quiet", "--no-edit");
  await repository.settled();
  await together(repository);
  expect(await main.git("merge-base", "side", "feature")).toBe(await main.git("rev-parse", "side"));
});

test.each([
  ["a cherry-pick", "cherry-pick", "CHERRY_PICK_HEAD", "side"],
  ["a revert", "revert", "REVERT_HEAD", "HEAD~1"],
])("nor is %s", async (_, command, head, commit) => {
  await using repository = await atOdds();
  const { main, tree } = repository;
  await stopped(repository, command, commit);
  const before = await under(main, head);
  await tree.git(...NEW_BRANCH);
  await repository.settled();
  expect([await main.branch(), await under(main, head)]).toEqual(["feature", before]);
  await main.git(...EDITOR, command, "--continue");
  await repository.settled();
  await together(repository);
  expect(await main.branch()).toBe("new");
});

test("a merge in the worktree is not dropped where the main tree has committed meanwhile", async () => {
  await using repository = await atOdds();
  const { main, tree } = repository;
  expect(await tree.refused("merge", "--quiet", "side")).not.toBe("");
  await main.commit("meanwhile.txt", "x\n");
  await repository.settled();
  await resolved(tree);
  await repository.settled();
  expect(await under(tree, "MERGE_HEAD")).toBe(await main.git("rev-parse", "side"));
  await tree.git("commit", "--quiet", "--no-edit");
  const merge = await tree.head();
  await repository.settled();
  expect([await tree.head(), await tree.read("side.txt")]).toEqual([merge, "both\n"]);
  await main.git("merge", "--quiet", "--no-edit", merge);
  await repository.settled();
  await together(repository);
});

test("a merge in the main tree takes in what the worktree has committed meanwhile", async () => {
  await using repository = await prepared();
  const { main, tree } = repository;
  await main.git("merge", "--quiet", "--no-commit", "--no-ff", "side");
  const next = await tree.commit("next.txt", "next\n");
  await repository.settled();
  expect(await main.head()).toBe(next);
  await main.git("commit", "--quiet", "--no-edit");
  await repository.settled();
  await together(repository);
  expect(await tree.git("rev-parse", "HEAD^1", "HEAD^2")).toBe(await main.git("rev-parse", next, "side"));
  expect([await tree.read("next.txt"), await tree.read("side.txt")]).toEqual(["next\n", "side\n"]);
});

/** Both branches have a file of one name; the worktree's is `feature`. */
async function notFollowed(): Promise<FollowRepository> {
  const repository = await FollowRepository.make();
  const { main } = repository;
  await main.git("switch", "--quiet", "--create", "side");
  await main.commit("side.txt", "side\n");
  await main.git("switch", "--quiet", "main");
  await main.commit("side.txt", "main\n");
  return repository;
}

test("follow mode that is turned on waits for a merge in the main tree, and says so before", async () => {
  await using repository = await notFollowed();
  const { main, tree } = repository;
  expect(await main.refused("merge", "--quiet", "side")).not.toBe("");
  await resolved(main);
  const request = { repoPath: main.path, branch: "feature", user: "somebody", dryRun: true };
  const preview = await repository.follow.enable(request);
  expect(preview).toMatchObject({ synced: false });
  expect(preview.steps.at(-1)).toContain("a merge is under way");
  expect(await repository.enable()).toMatchObject({ enabled: true, synced: false });
  expect(await under(main, "MERGE_HEAD")).toBe(await main.git("rev-parse", "side"));
  await main.git("commit", "--quiet", "--no-edit");
  await tree.commit("next.txt", "next\n");
  await repository.settled();
  await together(repository);
});

test("it cannot be turned on in the middle of a rebase of the main tree", async () => {
  await using repository = await notFollowed();
  const { main } = repository;
  expect(await main.refused("rebase", "--quiet", "side")).not.toBe("");
  const before = await main.head();
  await expect(repository.enable()).rejects.toMatchObject({ code: "uncommitted_changes" });
  expect([await main.head(), await main.branch(), await repository.isFollowed()]).toEqual([
    ...[before, "", false],
  ]);
  await main.git("rebase", "--abort");
  expect(await repository.enable()).toMatchObject({ synced: true });
});

test("a rebase in the main tree takes the worktree along when it is done", async () => {
  await using repository = await atOdds();
  const { main, tree } = repository;
  const before = await tree.head();
  expect(await main.refused("rebase", "--quiet", "side")).not.toBe("");
  await repository.settled();
  expect([await tree.head(), await tree.branch(), await tree.status()]).toEqual([before, "feature", ""]);
  await resolved(main);
  await main.git(...EDITOR, "rebase", "--continue");
  await repository.settled();
  await together(repository);
  expect(await tree.read("side.txt")).toBe("both\n");
});

test.each([
  ["cherry-pick", "side"],
  ["revert", "HEAD~1"],
])(
  "a %s that is forgotten, its files staged, lets the main tree go on by itself",
  async (command, commit) => {
    await using repository = await atOdds();
    const { main, tree } = repository;
    await stopped(repository, command, commit);
    await tree.git(...NEW_BRANCH);
    await repository.settled();
    await atRest(repository);
    expect(await main.branch()).toBe("feature");
    await main.git(command, "--quit");
    await expect.poll(() => main.branch()).toBe("new");
    expect(await main.status()).toBe("M  side.txt");
  },
);
