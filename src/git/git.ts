// Runs git as the user of this process; no other file does. docs/decisions.md explains why it does not use simple-git.
import { Semaphore } from "../lib/async/semaphore.ts";
import { isOwnVariable } from "../lib/os/own-variables.ts";
import { ServiceError } from "../protocol/errors.ts";
import { gitError } from "./git-error.ts";
import {
  GIT_TIMEOUT_MS,
  GIT_TURN_TIMEOUT_MS,
  GIT_WRITE_TIMEOUT_MS,
  MAX_GIT_OUTPUT_BYTES,
  MAX_GIT_PROCESSES,
  MAX_WAITING_GIT_PROCESSES,
} from "./git-limits.ts";
import { type GitRun, runGit } from "./git-process.ts";
import { type ConfigEntry, configOverrides, parseConfigList, type ScopedEntry } from "./local-config.ts";

/** Runs the git of this machine: at most MAX_GIT_PROCESSES processes at a time. */
export class GitProgram {
  readonly #env: GitEnv;
  readonly #semaphore = new Semaphore({
    permits: MAX_GIT_PROCESSES,
    maxWaiting: MAX_WAITING_GIT_PROCESSES,
    maxWaitMs: GIT_TURN_TIMEOUT_MS,
    full: () => new ServiceError("git_busy", "too much is asked of git at the moment: try again"),
  });

  /** `env`: that of this process; GIT_* and the variables of ttyhq are removed. */
  constructor({ env }: { readonly env: Readonly<Record<string, string | undefined>> }) {
    this.#env = gitEnv(env);
  }

  /** git in the folder `cwd`, an absolute path. `signal` aborts reads; a change that has begun is completed. */
  at(cwd: string, signal?: AbortSignal): Git {
    return new Git(this, cwd, signal);
  }

  get home(): string {
    return this.#env.HOME ?? "/";
  }

  /** For `Git`. Rejects as `runGit` does, and with `git_busy` when the wait is too long. */
  async run(request: GitRequest): Promise<GitRun> {
    const { overrides, signal } = request;
    const [file = "", ...args] = request.words;
    const env = overrides === undefined ? this.#env : readingEnv(this.#env, overrides);
    const timeoutMs = overrides === undefined ? GIT_WRITE_TIMEOUT_MS : GIT_TIMEOUT_MS;
    const limits = { timeoutMs, maxBytes: MAX_GIT_OUTPUT_BYTES, signal };
    return await this.#semaphore.take(() => runGit({ file, args, env }, limits));
  }
}

type GitRequest = {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /** Of a read: they neutralise programs in the repository's config. `undefined`: a change. */
  readonly overrides?: readonly ConfigEntry[];
  readonly signal?: AbortSignal | undefined;
};

/** Commands that could run programs of the repository's config, and the options that prevent it. */
const DIFFING = new Set(["diff", "diff-tree", "diff-index", "diff-files", "log", "show"]);
const PLAIN_OUTPUT = ["--no-ext-diff", "--no-textconv"];

/** git in one folder. Arguments from clients are passed behind `--`, or as refs/heads/NAME. */
export class Git {
  readonly cwd: string;
  readonly #program: GitProgram;
  readonly #signal: AbortSignal | undefined;
  #config: Promise<readonly ScopedEntry[]> | undefined;

  constructor(program: GitProgram, cwd: string, signal: AbortSignal | undefined) {
    if (!cwd.startsWith("/") || cwd.includes("\0")) {
      throw new ServiceError("invalid_request", `not an absolute path: ${JSON.stringify(cwd)}`);
    }
    this.#program = program;
    this.cwd = cwd;
    this.#signal = signal;
  }

  at(cwd: string): Git {
    return new Git(this.#program, cwd, this.#signal);
  }

  /**
   * The output of a command that changes nothing. Runs no program of the repository's own config. Throws
   * `not_a_repository`, `forbidden` (an untrusted owner), `git_failed`, `git_timeout`.
   */
  async read(...args: readonly string[]): Promise<string> {
    return said(args, await this.try(...args));
  }

  /** The output without its final line feed, for a path. */
  async readLine(...args: readonly string[]): Promise<string> {
    return (await this.read(...args)).replace(/\n$/, "");
  }

  /** Like `read`; a non-zero exit code is an answer and not an error. */
  async try(...args: readonly string[]): Promise<GitRun> {
    const [name = "", ...rest] = args;
    return await this.#ask(this.#git([name, ...(DIFFING.has(name) ? PLAIN_OUTPUT : []), ...rest]));
  }

  /**
   * Runs a shell script with `args` as $1, $2, …, for many commands at once: starting each from here takes longer.
   * Programs in this folder's config are neutralised.
   */
  async script(text: string, args: readonly string[]): Promise<GitRun> {
    return await this.#ask(["sh", "-c", text, "sh", ...args]);
  }

  /** The config of all scopes, in git's order; the last entry of a key wins. */
  async config(): Promise<readonly ScopedEntry[]> {
    this.#config ??= this.#readConfig();
    return await this.#config;
  }

  /** A change, with the repository's own hooks and filters. Throws as `read` does, and the conditions of git-error.ts. */
  async write(...args: readonly string[]): Promise<string> {
    return said(args, await this.tryWrite(args));
  }

  /** The same; a non-zero exit code is an answer and not an error. */
  async tryWrite(args: readonly string[]): Promise<GitRun> {
    try {
      return await this.#program.run({ words: this.#git(args) });
    } finally {
      this.#config = undefined;
    }
  }

  async #ask(words: readonly string[]): Promise<GitRun> {
    const overrides = configOverrides(await this.config());
    return await this.#program.run({ words, overrides, signal: this.#signal });
  }

  async #readConfig(): Promise<readonly ScopedEntry[]> {
    const args = ["config", "--list", "--includes", "--show-scope", "-z"];
    const run = await this.#program.run({ words: this.#git(args), overrides: [], signal: this.#signal });
    return parseConfigList(said(args, run));
  }

  #git(args: readonly string[]): readonly string[] {
    return ["git", "--no-pager", "-C", this.cwd, ...args];
  }
}

function said(args: readonly string[], run: GitRun): string {
  if (run.code === 0) return run.stdout;
  throw gitError(args[0] ?? "", run);
}

type GitEnv = Readonly<Record<string, string>>;

/** No prompts, no editor, and messages in English. */
const UNATTENDED: GitEnv = {
  ...{ GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "", SSH_ASKPASS: "", SSH_ASKPASS_REQUIRE: "never" },
  ...{ GCM_INTERACTIVE: "never", GIT_EDITOR: ":", GIT_MERGE_AUTOEDIT: "no", GIT_PAGER: "cat", LC_ALL: "C" },
};

/** No locks, and no fetches for a partial clone: its remote may name a program. */
const READ_ONLY: GitEnv = { GIT_OPTIONAL_LOCKS: "0", GIT_ALLOW_PROTOCOL: "", GIT_NO_LAZY_FETCH: "1" };

/** Settings of the repository that reads override. */
const READ_CONFIG: readonly ConfigEntry[] = [
  { key: "core.fsmonitor", value: "false" },
  { key: "core.hooksPath", value: "/dev/null" },
  { key: "log.showSignature", value: "false" },
  { key: "status.submoduleSummary", value: "false" },
  { key: "submodule.recurse", value: "false" },
];

function gitEnv(env: Readonly<Record<string, string | undefined>>): GitEnv {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith("GIT_") && !isOwnVariable(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...UNATTENDED };
}

/** The environment of reads. `overrides` neutralise programs in the repository's config. */
function readingEnv(env: GitEnv, overrides: readonly ConfigEntry[]): GitEnv {
  const entries = [...overrides, ...READ_CONFIG];
  // Not `-c` arguments: section names may contain an equals sign.
  const config = entries.flatMap(({ key, value }, index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...env, ...READ_ONLY, ...Object.fromEntries(config), GIT_CONFIG_COUNT: `${entries.length}` };
}
