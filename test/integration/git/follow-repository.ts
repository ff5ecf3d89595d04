// A repository with a main tree and a worktree, followed or not, without a server.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { FollowMode } from "../../../src/git/follow/follow-mode.ts";
import { FollowList } from "../../../src/git/follow/list.ts";
import { Notices } from "../../../src/git/follow/notices.ts";
import { GitProgram } from "../../../src/git/git.ts";
import { FollowHooks } from "../../../src/git/hooks/follow-hooks.ts";
import { createLogger } from "../../../src/log.ts";
import type { FollowReply, GitNotification } from "../../../src/protocol/schemas/follow.ts";
import { FollowFile } from "../../../src/repositories/follow-file.ts";
import { PATIENCE_MS } from "../harness/patience.ts";

const run = promisify(execFile);
const LOCKED = /Unable to create '.*\/index\.lock': File exists/;
const LOCK_POLL_MS = 20;

/** The list of one user in a file. */
export async function followList(path: string): Promise<FollowList> {
  const file = await FollowFile.open(path);
  return new FollowList(file.of(undefined), (entries) => file.set(undefined, entries));
}

/** One working tree, with git as a user runs it. */
export class WorkTree {
  readonly path: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(path: string, env: NodeJS.ProcessEnv) {
    this.path = path;
    this.#env = env;
  }

  /**
   * Standard output without its last line feed. Rejects if git fails, but waits while follow mode has the tree locked.
   */
  async git(...args: readonly string[]): Promise<string> {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      try {
        const { stdout } = await run("git", args, { cwd: this.path, env: this.#env });
        return stdout.replace(/\n$/, "");
      } catch (error) {
        if (patience.aborted || !LOCKED.test(String(error))) throw error;
      }
      await pause(LOCK_POLL_MS);
    }
  }

  /** git's standard error when it refuses; empty if it does not. */
  async refused(...args: readonly string[]): Promise<string> {
    try {
      await this.git(...args);
      return "";
    } catch (error) {
      return String(error);
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** `undefined`: no such file. */
  async read(name: string): Promise<string | undefined> {
    return await readFile(join(this.path, name), "utf8").catch(() => undefined);
  }

  /** Writes and commits one file. Returns the commit. */
  async commit(name: string, text: string): Promise<string> {
    await this.write(name, text);
    await this.git("add", "--force", "--", name);
    await this.git("commit", "--quiet", "--message", `${name}: ${text.slice(0, 20)}`);
    return await this.head();
  }

  head(): Promise<string> {
    return this.git("rev-parse", "HEAD");
  }

  /** Empty: HEAD is detached. */
  branch(): Promise<string> {
    return this.git("branch", "--show-current");
  }

  status(): Promise<string> {
    return this.git("status", "--porcelain");
  }
}

export class FollowRepository implements AsyncDisposable {
  readonly directory: string;
  readonly main: WorkTree;
  readonly tree: WorkTree;
  readonly notices = new Notices({ now: () => performance.now() });
  readonly env: NodeJS.ProcessEnv;
  follow: FollowMode;
  /** Milliseconds by which its clock is fast. */
  laterMs = 0;
  /** The number of follow mode's checks of both trees. */
  checks = 0;
  /** Called at once with each line of its log. */
  onLog: (line: string) => void = () => {};
  readonly #log: string[] = [];

  private constructor(
    directory: string,
    env: NodeJS.ProcessEnv,
    parts: { main: string; tree: string; list: FollowList },
  ) {
    this.directory = directory;
    this.env = env;
    this.main = new WorkTree(join(directory, parts.main), env);
    this.tree = new WorkTree(join(directory, parts.tree), env);
    this.follow = this.#serve(parts.list);
  }

  #serve(list: FollowList): FollowMode {
    const program = new GitProgram({ env: this.env });
    const target = {
      node: "/nowhere/node",
      main: "/nowhere/main.js",
      controlDir: join(this.directory, "control"),
    };
    const hooks = new FollowHooks({ list, target });
    const write = (line: string): void => {
      this.#log.push(line);
      this.onLog(line);
    };
    const log = createLogger({ level: "info", format: "json", destination: { write } });
    const parts = { program, list, hooks, notices: this.notices, log };
    const now = (): number => performance.now() + this.laterMs;
    return new FollowMode({ ...parts, now, onChange: () => this.checks++ });
  }

  /** The main tree is on `main`, the worktree on `feature`, both at one commit. */
  static async make(names: { main?: string; tree?: string } = {}): Promise<FollowRepository> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), "ttyhq-follow-")));
    const config = join(directory, "gitconfig");
    await writeFile(
      config,
      '[user]\n\tname = Somebody\n\temail = somebody@example.com\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    );
    const { PATH } = process.env;
    const env = { PATH, HOME: directory, GIT_CONFIG_GLOBAL: config, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
    const list = await followList(join(directory, "follow.json"));
    const made = new FollowRepository(directory, env, { list, main: "repo", tree: "tree", ...names });
    await mkdir(made.main.path, { recursive: true });
    await made.main.git("init", "--quiet");
    await made.main.commit("shared.txt", "one\n");
    await made.main.git("worktree", "add", "--quiet", "-b", "feature", made.tree.path);
    return made;
  }

  static async following(names: { main?: string; tree?: string } = {}): Promise<FollowRepository> {
    const made = await FollowRepository.make(names);
    await made.enable();
    made.told();
    return made;
  }

  /** The server ends, and after `meanwhile` another one starts. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    await this.follow[Symbol.asyncDispose]();
    await meanwhile();
    this.follow = this.#serve(await followList(join(this.directory, "follow.json")));
    this.follow.resume();
  }

  enable(branch = "feature"): Promise<FollowReply> {
    return this.follow.enable({ repoPath: this.main.path, branch, user: "somebody" });
  }

  disable(): Promise<FollowReply> {
    return this.follow.disable({ repoPath: this.main.path, user: "somebody" });
  }

  /** Resolves when follow mode is idle. */
  async settled(): Promise<void> {
    await this.follow.changed(this.main.path);
  }

  isFollowed(): Promise<boolean> {
    return this.follow.status(this.main.path).then(({ enabled }) => enabled);
  }

  /** Notifications that were not reported yet. */
  told(): readonly GitNotification[] {
    return this.notices.take({ user: "somebody", client: "test" }, () => true);
  }

  get log(): string {
    return this.#log.join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.follow[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true, force: true });
  }
}
