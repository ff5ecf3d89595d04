// Shell scripts under test, in a folder with other scripts in the places of the commands that they call.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { env } from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 60_000;

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
type Texts = Readonly<Record<string, string>>;

export class ScriptFolder implements AsyncDisposable {
  readonly path: string;
  readonly #owned: AsyncDisposable;

  private constructor(folder: { readonly path: string } & AsyncDisposable) {
    this.path = folder.path;
    this.#owned = folder;
  }

  /** `commands`: what they do, in the language of the shell. */
  static async make(commands: Texts): Promise<ScriptFolder> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(new ScriptFolder(await mkdtempDisposable(join(tmpdir(), "ttyhq-scripts-"))));
    for (const [name, text] of Object.entries(commands)) await folder.command(name, text);
    stack.move();
    return folder;
  }

  at(path: string): string {
    return join(this.path, path);
  }

  /** First on the PATH of `run`. */
  async command(name: string, text: string): Promise<void> {
    await this.script(join("bin", name), text);
  }

  async script(path: string, text: string): Promise<void> {
    await this.write(path, `#!/bin/sh\n${text}\n`, 0o755);
  }

  async write(path: string, text: string, mode = 0o644): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), text, { mode });
  }

  /** Files of this checkout, at the same places in the folder. */
  async copy(...paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      await mkdir(dirname(this.at(path)), { recursive: true });
      await copyFile(join(ROOT, path), this.at(path));
    }
  }

  /** The variables of `run`; the folder is home and place of temporary files. */
  get env(): Texts {
    return { PATH: this.at("bin") + delimiter + env.PATH, HOME: this.path, TMPDIR: this.path };
  }

  /** Runs a script of the folder, or one of this checkout by its absolute path. `more`: further variables. */
  run(script: string, args: readonly string[] = [], more: Texts = {}): Promise<Ran> {
    const options = { env: { ...this.env, ...more }, timeout: TIMEOUT_MS };
    const ran = Promise.withResolvers<Ran>();
    const child = execFile(resolve(this.path, script), args, options, (_, stdout, stderr) =>
      ran.resolve({ code: child.exitCode, stdout, stderr }),
    );
    return ran.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned[Symbol.asyncDispose]();
  }
}
