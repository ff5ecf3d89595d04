// A judge of keys: sshd, or ttyhq, which reads the same file of the same user.
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Accounts } from "../../../src/auth/accounts/accounts.ts";
import { readPublicKey } from "../../../src/auth/ssh/public-key.ts";
import { userKeys } from "../../../src/auth/ssh/user-keys.ts";
import { MAIN } from "../harness/test-server.ts";
import { SshDaemon } from "./ssh-daemon.ts";
import { SystemUser } from "./system-user.ts";

const run = promisify(execFile);
/** The built program: each verdict starts it, and starting from sources takes four times as long. */
const WORKER = join(dirname(MAIN), "account-worker.js");

export type Judgement = { readonly sshd: boolean; readonly ttyhq: boolean };
export type Place = "127.0.0.1" | "::1";

export class KeyJudge implements AsyncDisposable {
  readonly user: SystemUser;
  /** The tested key as an OpenSSH line, and another key. */
  readonly line: string;
  readonly other: string;
  readonly #sshd: SshDaemon;
  readonly #directory: string;
  readonly #resources: AsyncDisposableStack;
  readonly #accounts = new Accounts(() => performance.now(), WORKER);
  readonly #keys = userKeys({
    ...{
      accounts: this.#accounts,
      users: { isOwn: () => false },
      ownHome: "/nowhere",
      now: () => Date.now(),
      log: { info: () => undefined },
    },
  });

  private constructor(parts: {
    readonly user: SystemUser;
    readonly sshd: SshDaemon;
    readonly lines: readonly [string, string];
    readonly directory: string;
    readonly resources: AsyncDisposableStack;
  }) {
    this.user = parts.user;
    [this.line, this.other] = parts.lines;
    this.#sshd = parts.sshd;
    this.#directory = parts.directory;
    this.#resources = parts.resources;
  }

  static async start(accounts?: "sshd" | "pam"): Promise<KeyJudge> {
    await using stack = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-judge-"));
    stack.defer(() => rm(directory, { recursive: true, force: true }));
    const lines = [await newKey(join(directory, "key")), await newKey(join(directory, "other"))] as const;
    const user = stack.use(await SystemUser.make());
    const sshd = stack.use(await SshDaemon.start(accounts));
    return new KeyJudge({ user, sshd, lines, directory, resources: stack.move() });
  }

  get ssh(): string {
    return join(this.user.home, ".ssh");
  }

  get file(): string {
    return join(this.ssh, "authorized_keys");
  }

  /** A new home with that file, with the permissions that ssh-copy-id sets. Letters of `text` are bytes. */
  async install(text: string, name = "authorized_keys"): Promise<void> {
    await this.user.emptyHome();
    await mkdir(this.ssh, { mode: 0o700 });
    await this.own(this.ssh);
    await this.write(join(this.ssh, name), text);
  }

  /** A file of the user that nobody else may read. */
  async write(path: string, text: string): Promise<void> {
    await writeFile(path, Buffer.from(text, "latin1"));
    await chmod(path, 0o600);
    await this.own(path);
  }

  async own(path: string): Promise<void> {
    await chown(path, this.user.uid, this.user.gid);
  }

  /** The users whom the key logs in from there. */
  async judge(from: Place = "127.0.0.1"): Promise<Judgement> {
    const key = readPublicKey(this.line) ?? { bytes: new Uint8Array() };
    const [sshd, ttyhq] = await Promise.all([
      this.#sshd.letsIn(this.user.name, join(this.#directory, "key"), from),
      this.#keys(this.user.name, key, from),
    ]);
    return { sshd, ttyhq };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#accounts[Symbol.dispose]();
    await this.#resources.disposeAsync();
  }
}

async function newKey(path: string): Promise<string> {
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f", path]);
  return (await readFile(`${path}.pub`, "utf8")).trim();
}
