// A disk of its own that is soon full.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../../../packages/testing/src/wait.ts";

const run = promisify(execFile);

/** A file system in memory with room for so much; mounting it takes root, or sudo without a password. */
export class SmallDisk implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** `inodes`: how many files and folders there may be. */
  static async make(bytes: number, { inodes }: { readonly inodes?: number } = {}): Promise<SmallDisk> {
    const path = await mkdtemp(join(tmpdir(), "ttyhq-disk-"));
    const owner = `mode=0700,uid=${process.getuid?.()}`;
    const limits = `size=${bytes}${inodes === undefined ? "" : `,nr_inodes=${inodes}`}`;
    await asRoot(["mount", "-t", "tmpfs", "-o", `${limits},${owner}`, "ttyhq-test", path]);
    return new SmallDisk(path);
  }

  /** Takes all the room that is left, down to the last byte. Returns what gives it back. */
  async fill(): Promise<() => Promise<void>> {
    const ballast = join(this.path, "ballast");
    for (const bytes of [1024 * 1024, 1]) {
      const piece = new Uint8Array(bytes);
      for (let isFull = false; !isFull; )
        isFull = await appendFile(ballast, piece).then(() => false, isNoSpace);
    }
    return () => rm(ballast);
  }

  /** Takes all the files that are left; once more, also those that came free meanwhile. */
  async fillInodes(): Promise<() => Promise<void>> {
    const folder = join(this.path, "many");
    await mkdir(folder, { recursive: true });
    for (let isFull = false; !isFull; ) {
      isFull = await writeFile(join(folder, randomUUID()), "").then(() => false, isNoSpace);
    }
    return () => rm(folder, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await unmount(this.path);
    await rmdir(this.path);
  }
}

/** As soon as nobody uses it any more: a program that was told to end may take a moment to. */
export async function unmount(path: string): Promise<void> {
  const isBusy = (error: unknown): undefined => {
    if (!String(error).includes("busy")) throw error;
  };
  await eventually(() => asRoot(["umount", path]).then(() => true, isBusy), `the end of the use of ${path}`);
}

function isNoSpace(error: unknown): true {
  if (error instanceof Error && "code" in error && error.code === "ENOSPC") return true;
  throw error;
}

export async function asRoot(command: readonly string[]): Promise<void> {
  const [file = "", ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
  await run(file, args);
}
