// A real repository in a temporary directory, and a git that ignores this machine's settings.
import { execFile } from "node:child_process";
import { appendFile, chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { GitProgram } from "../../../src/git/git.ts";

const run = promisify(execFile);
const SECONDS = 1_700_000_000;

/** A folder for repositories, with a home of its own. */
export class GitRoom implements AsyncDisposable {
  /** The path without symbolic links. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  readonly program: GitProgram;
  #commits = 0;

  private constructor(path: string) {
    this.path = path;
    const home = join(path, "home");
    this.env = { HOME: home, PATH: process.env.PATH ?? "", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
    this.program = new GitProgram({ env: this.env });
  }

  static async make(): Promise<GitRoom> {
    const room = new GitRoom(await realpath(await mkdtemp(join(tmpdir(), "ttyhq-git-"))));
    await mkdir(room.at("home"));
    const config = "[user]\nname = One\nemail = one@example.com\n[init]\ndefaultBranch = main\n";
    await writeFile(room.at("home/.gitconfig"), `${config}[protocol "file"]\nallow = always\n`);
    return room;
  }

  at(...parts: readonly string[]): string {
    return join(this.path, ...parts);
  }

  /** Runs git in a folder; returns its output without the final line feed. Rejects if it fails. */
  async git(cwd: string, ...args: readonly string[]): Promise<string> {
    const date = `${SECONDS + this.#commits++} +0000`;
    const env = { ...this.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    const { stdout } = await run("git", ["-C", cwd, ...args], { env, maxBuffer: 64 * 1024 * 1024 });
    return stdout.replace(/\n$/, "");
  }

  /** Writes a file and its parent folders. */
  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** A shell script, for example a hook or a program that a config names. */
  async script(path: string, text: string): Promise<string> {
    await this.write(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return path;
  }

  async append(path: string, text: string): Promise<void> {
    await appendFile(path, text);
  }

  /** Commits everything. Returns the commit's id. */
  async commit(cwd: string, message = "work"): Promise<string> {
    await this.git(cwd, "add", "--all");
    await this.git(cwd, "commit", "--quiet", "--allow-empty", "-m", message);
    return await this.git(cwd, "rev-parse", "HEAD");
  }

  /** A repository with one commit of two files. Returns its path. */
  async repository(name = "repo"): Promise<string> {
    const path = this.at(name);
    await mkdir(path, { recursive: true });
    await this.git(path, "init", "--quiet");
    await this.write(join(path, "a.txt"), "one\ntwo\nthree\n");
    await this.write(join(path, "folder/b.txt"), "b\n");
    await this.commit(path, "first");
    return path;
  }

  /** A linked working tree on a new branch. Returns its path. */
  async worktree(repository: string, branch: string, path = `${repository}-${branch}`): Promise<string> {
    await this.git(repository, "worktree", "add", "--quiet", "-b", branch, path);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
