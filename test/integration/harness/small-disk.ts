// A disk of its own that is soon full.
import { execFile } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A file system in memory with room for so many bytes; mounting it takes root, or sudo without a password. */
export class SmallDisk implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(bytes: number): Promise<SmallDisk> {
    const path = await mkdtemp(join(tmpdir(), "ttyhq-disk-"));
    await asRoot([
      "mount",
      "-t",
      "tmpfs",
      "-o",
      `size=${bytes},mode=0700,uid=${process.getuid?.()}`,
      "ttyhq-test",
      path,
    ]);
    return new SmallDisk(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await asRoot(["umount", this.path]);
    await rmdir(this.path);
  }
}

async function asRoot(command: readonly string[]): Promise<void> {
  const [file = "", ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
  await run(file, args);
}
