// A temporary user of this system, for one test.
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../../../packages/testing/src/wait.ts";

const run = promisify(execFile);

/** Needs root. The user has no password, so only keys log in, and a home below no directory that others may write. */
export class SystemUser implements AsyncDisposable {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly #directory: string;
  #isRemoved = false;

  private constructor(name: string, ids: readonly [number, number], directory: string) {
    this.name = name;
    [this.uid, this.gid] = ids;
    this.home = join(directory, "home");
    this.#directory = directory;
  }

  static async make(): Promise<SystemUser> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-user-"));
    const name = basename(directory).toLowerCase();
    const home = join(directory, "home");
    const how = ["--no-create-home", "--home-dir", home, "--shell", "/bin/sh", "--password", "*"];
    await unlocked("useradd", [...how, name]);
    const ids = await Promise.all(["-u", "-g"].map((what) => run("id", [what, name])));
    const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout));
    const user = new SystemUser(name, [uid, gid], directory);
    await chmod(directory, 0o755);
    await user.emptyHome();
    return user;
  }

  /** Recreates the empty home. */
  async emptyHome(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
    await mkdir(this.home);
    await chmod(this.home, 0o755);
    await chown(this.home, this.uid, this.gid);
  }

  /** Changes the account: arguments of usermod(8). */
  async modify(...args: readonly string[]): Promise<void> {
    await unlocked("usermod", [...args, this.name]);
  }

  /** Removes the account, but not the home. */
  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    await unlocked("userdel", ["--force", this.name]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Another test may hold the lock of the user list: exit code 1, or 10 for that of groups. */
async function unlocked(command: string, args: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      try {
        await run(command, args);
        return true;
      } catch (error) {
        if (error instanceof Error && error.message.includes("cannot lock")) return undefined;
        throw error;
      }
    },
    `${command} ${args.join(" ")}`,
  );
}
