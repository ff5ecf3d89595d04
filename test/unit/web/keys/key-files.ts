// Keys made by ssh-keygen and openssl at test time.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A folder of keys. Disposing removes it. */
export class KeyFiles implements AsyncDisposable {
  readonly #folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<KeyFiles> {
    return new KeyFiles(await mkdtemp(join(tmpdir(), "ttyhq-keys-")));
  }

  /** The private and the public file that `ssh-keygen ARGS` makes; without a password unless ARGS name one. */
  async sshKeygen(...args: readonly string[]): Promise<{ readonly file: string; readonly line: string }> {
    const path = this.#path();
    const password = args.includes("-N") ? [] : ["-N", ""];
    await run("ssh-keygen", ["-q", "-f", path, ...password, ...args]);
    return { file: await readFile(path, "utf8"), line: (await readFile(`${path}.pub`, "utf8")).trim() };
  }

  /** What `openssl ARGS` writes. */
  async openssl(...args: readonly string[]): Promise<string> {
    const path = this.#path();
    await run("openssl", [...args, "-out", path]);
    return await readFile(path, "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #path(): string {
    this.#count += 1;
    return join(this.#folder, `key-${this.#count}`);
  }
}

/** What openssl writes to standard output for `input`. */
export async function opensslAnswer(input: string, ...args: readonly string[]): Promise<Uint8Array> {
  const child = run("openssl", args, { encoding: "buffer" });
  child.child.stdin?.end(input);
  return (await child).stdout;
}
