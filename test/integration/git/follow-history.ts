// Random histories: a user's actions in two trees, and invariants whenever follow mode is idle.
import { FollowRepository, type WorkTree } from "./follow-repository.ts";
import { BRANCHES, fileName, type Place, type Step } from "./follow-step.ts";

export class History implements AsyncDisposable {
  readonly #repository: FollowRepository;
  /** Uncommitted work, by tree and file: every text is unique. */
  readonly #edits: Record<Place, Map<string, string>> = { main: new Map(), tree: new Map() };
  readonly #commits = new Set<string>();
  readonly #abandoned = new Set<string>();
  #count = 0;

  private constructor(repository: FollowRepository) {
    this.#repository = repository;
  }

  static async begin(): Promise<History> {
    const repository = await FollowRepository.following();
    await repository.main.write(".git/info/exclude", "ignored*\n");
    return new History(repository);
  }

  /** One action; git may refuse it. Then waits for follow mode. */
  async step(step: Step): Promise<void> {
    await this.#take(step, () => this.#do(step));
    await this.#repository.settled();
  }

  /** The same while follow mode is still at work: git may find a tree locked, and refuse. */
  async hurriedStep(step: Step): Promise<void> {
    await this.#take(step, () => this.#do(step).catch(() => undefined));
  }

  rest(): Promise<void> {
    return this.#repository.settled();
  }

  /** The part of `check` that always holds. */
  async lost(): Promise<readonly string[]> {
    return [...(await this.#lostCommits()), ...(await this.#lostEdits())];
  }

  /** The state of both trees, to prove that histories reach all of them. */
  async sight(): Promise<string> {
    const { main, tree } = this.#repository;
    if (!(await this.#repository.isFollowed())) return "not followed";
    const [mainHead, treeHead] = await this.#tips();
    if (mainHead !== treeHead)
      return `apart: ${(await main.branch()) === "" ? "main" : "worktree"} is held back`;
    return (await tree.branch()) === "" ? "together on no branch" : "together";
  }

  /** Problems; empty if there are none. */
  async check(): Promise<readonly string[]> {
    return [...(await this.#lostCommits()), ...(await this.#lostEdits()), ...(await this.#misplaced())];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#repository[Symbol.asyncDispose]();
  }

  #tree(place: Place): WorkTree {
    return place === "main" ? this.#repository.main : this.#repository.tree;
  }

  async #do(step: Step): Promise<void> {
    const { tree, main } = this.#repository;
    this.#count += 1;
    const text = `text ${this.#count}\n`;
    switch (step.kind) {
      case "commit": {
        const name = fileName(step.file);
        if (this.#edits[step.in].has(name)) return;
        await this.#tree(step.in).write(name, text);
        await this.#tree(step.in).git("add", "--", name);
        // Only this file: other staged changes stay.
        await this.#tree(step.in).git("commit", "--quiet", "--only", "--message", text, "--", name);
        return;
      }
      case "edit":
      case "stage": {
        const name = fileName(step.file);
        await this.#tree(step.in).write(name, text);
        this.#edits[step.in].set(name, text);
        if (step.kind === "stage") await this.#tree(step.in).git("add", "--", name);
        return;
      }
      case "untracked":
      case "ignored": {
        const name = step.kind === "ignored" ? `ignored ${step.file}` : `new ${step.file}`;
        // One tree commits the other's uncommitted text.
        if (step.file % 2 === 0 || step.in === "main") {
          if ((await this.#tree(step.in).git("ls-files", "--", name)) !== "") return;
          await this.#tree(step.in).write(name, text);
          this.#edits[step.in].set(name, text);
        } else if (!this.#edits[step.in].has(name)) {
          await this.#tree(step.in).write(name, text);
          await this.#tree(step.in).git("add", "--force", "--", name);
          await this.#tree(step.in).git("commit", "--quiet", "--only", "--message", text, "--", name);
        }
        return;
      }
      case "commitAll":
        if ((await this.#tree(step.in).refused("commit", "--quiet", "--all", "--message", text)) === "") {
          await this.#forgetCommitted(step.in);
        }
        return;
      case "amend":
        await this.#tree(step.in).refused("commit", "--quiet", "--amend", "--only", "--message", text);
        return;
      case "reset":
        await this.#tree(step.in).refused("reset", "--quiet", "--keep", "HEAD~1");
        return;
      case "softReset":
        // Turns the last commit into an edit.
        if (this.#edits[step.in].size > 0) return;
        await this.#softReset(step.in);
        return;
      case "stash":
        if ((await this.#tree(step.in).refused("stash", "push", "--quiet")) === "")
          await this.#forgetStashed(step.in);
        return;
      case "pop":
        if (this.#edits[step.in].size > 0) return;
        await this.#pop(step.in);
        return;
      case "switch":
        await tree.refused("switch", "--quiet", BRANCHES[step.branch] ?? "");
        return;
      case "create":
        await tree.refused("switch", "--quiet", "--create", BRANCHES[step.branch] ?? "");
        return;
      case "merge":
      case "mergeInMain": {
        const where = step.kind === "merge" ? tree : main;
        if ((await where.refused("merge", "--quiet", "--no-edit", BRANCHES[step.branch] ?? "")) !== "")
          await where.refused("merge", "--abort");
        if (where === main) await this.#forgetIgnored();
        return;
      }
      case "rebase":
        if ((await tree.refused("rebase", "--quiet", BRANCHES[step.branch] ?? "")) !== "")
          await tree.refused("rebase", "--abort");
        return;
      case "cherryPick":
        if ((await tree.refused("cherry-pick", BRANCHES[step.branch] ?? "")) !== "")
          await tree.refused("cherry-pick", "--abort");
        return;
      case "detach":
        await tree.refused("switch", "--quiet", "--detach");
        return;
      case "leave":
        await main.refused("switch", "--quiet", "main");
        await this.#forgetIgnored();
        return;
      case "follow":
        if ((await tree.branch()) !== "")
          await this.#repository.enable(await tree.branch()).catch(() => undefined);
    }
  }

  async #softReset(place: Place): Promise<void> {
    const tree = this.#tree(place);
    const changed = (await tree.git("diff", "--name-only", "HEAD~1", "HEAD").catch(() => "")).split("\n");
    if ((await tree.refused("reset", "--quiet", "--soft", "HEAD~1")) !== "") return;
    // Not commits that this tree has not received yet: the other one may just have made the commit.
    const edited = (await tree.git("diff", "--name-only", "HEAD")).split("\n");
    const own = changed.filter((name) => edited.includes(name));
    await this.#noteEdits(place, own);
  }

  async #pop(place: Place): Promise<void> {
    const tree = this.#tree(place);
    if ((await tree.git("stash", "list")) === "") return;
    const files = (await tree.git("stash", "show", "--name-only")).split("\n");
    if ((await tree.refused("stash", "pop", "--quiet")) !== "") {
      await tree.refused("reset", "--quiet", "--merge");
      return;
    }
    await this.#noteEdits(place, files);
  }

  /** `names`: as git prints them. */
  async #noteEdits(place: Place, names: readonly string[]): Promise<void> {
    for (const name of names.filter((one) => one !== "").map((one) => one.replace(/^"|"$/g, ""))) {
      const text = await this.#tree(place).read(name);
      if (text !== undefined) this.#edits[place].set(name, text);
    }
  }

  /** A file that git no longer reports as changed is in a commit. */
  async #forgetCommitted(place: Place): Promise<void> {
    const tree = this.#tree(place);
    for (const name of this.#edits[place].keys()) {
      const isTracked = (await tree.git("ls-files", "--", name)) !== "";
      if (isTracked) this.#edits[place].delete(name);
    }
  }

  /** A user's own merge or switch overwrites ignored files, like git does without a warning. */
  async #forgetIgnored(): Promise<void> {
    const { main } = this.#repository;
    for (const [name, text] of this.#edits.main) {
      if (name.startsWith("ignored") && (await main.read(name)) !== text) this.#edits.main.delete(name);
    }
  }

  async #forgetStashed(place: Place): Promise<void> {
    for (const [name, text] of this.#edits[place]) {
      if ((await this.#tree(place).read(name)) !== text) this.#edits[place].delete(name);
    }
  }

  async #tips(): Promise<readonly string[]> {
    const { main, tree } = this.#repository;
    return await Promise.all([main.head(), tree.head()]);
  }

  async #take(step: Step, work: () => Promise<void>): Promise<void> {
    const loser = await this.#givesUp(step);
    const before = await loser?.head();
    await work();
    for (const tip of await this.#tips()) this.#commits.add(tip);
    if (loser !== undefined && before !== undefined) await this.#giveUp(before, await loser.head());
  }

  /** The tree in which a user abandons commits this way, as git warns: they are in its reflog. */
  async #givesUp(step: Step): Promise<WorkTree | undefined> {
    const { main, tree } = this.#repository;
    if (step.kind === "leave") return (await main.branch()) === "" ? main : undefined;
    if (step.kind === "rebase") return tree;
    const isStep = step.kind === "amend" || step.kind === "reset" || step.kind === "softReset";
    return isStep ? this.#tree(step.in) : undefined;
  }

  /** The other tree may still hold them: it is updated. */
  async #giveUp(before: string, now: string): Promise<void> {
    const given = await this.#repository.main.git("rev-list", before, "--not", "--branches", "--tags", now);
    for (const commit of given.split("\n")) this.#abandoned.add(commit);
  }

  async #reachable(...more: readonly string[]): Promise<ReadonlySet<string>> {
    const tips = await this.#tips();
    const all = await this.#repository.main.git("rev-list", "--branches", "--tags", ...tips, ...more);
    return new Set(all.split("\n"));
  }

  async #lostCommits(): Promise<readonly string[]> {
    const reachable = await this.#reachable();
    const noted = await this.#reachable("--reflog");
    return [...this.#commits].flatMap((commit) => {
      if (reachable.has(commit)) return [];
      if (this.#abandoned.has(commit)) return noted.has(commit) ? [] : [`${commit} is not even in a reflog`];
      return [`commit ${commit} is not reachable`];
    });
  }

  async #lostEdits(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const place of ["main", "tree"] as const) {
      for (const [name, text] of this.#edits[place]) {
        const found = await this.#tree(place).read(name);
        if (found !== text)
          problems.push(`${place}: ${name} has ${JSON.stringify(found)}, not ${JSON.stringify(text)}`);
      }
    }
    return problems;
  }

  async #misplaced(): Promise<readonly string[]> {
    const { main, tree } = this.#repository;
    if (!(await this.#repository.isFollowed())) return [];
    const [mainBranch, treeBranch] = await Promise.all([main.branch(), tree.branch()]);
    const [mainHead, treeHead] = await this.#tips();
    const problems: string[] = [];
    const hasReason = this.#edits.main.size > 0 || this.#edits.tree.size > 0 || (await this.#hasOwnCommits());
    if ((mainBranch !== treeBranch || mainHead !== treeHead) && !hasReason)
      problems.push(`main is on ${mainBranch} ${mainHead}, the worktree on ${treeBranch} ${treeHead}`);
    for (const place of ["main", "tree"] as const) {
      const changed = await this.#tree(place).git("status", "--porcelain", "-z", "--untracked-files=no");
      const names = changed
        .split("\0")
        .filter((line) => line !== "")
        .map((line) => line.slice(3));
      const strange = names.filter((name) => !this.#edits[place].has(name));
      if (strange.length > 0) problems.push(`${place}: nobody has changed ${strange.join(", ")}`);
    }
    return problems;
  }

  /** For a tree on no branch: its commits are its own to merge. */
  async #hasOwnCommits(): Promise<boolean> {
    const tips = await this.#tips();
    for (const tip of tips) {
      if ((await this.#repository.main.git("for-each-ref", `--contains=${tip}`, "refs/heads")) === "")
        return true;
    }
    return false;
  }
}
