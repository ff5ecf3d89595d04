// A small disk that is soon full.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../../../packages/testing/src/wait.ts";

const run = promisify(execFile);

/** A file system in memory with that capacity; mounting it needs root, or sudo without a password. */
export class SmallDisk implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** `inodes`: the maximum number of files and folders. */
  static async make(bytes: number, { inodes }: { readonly inodes?: number } = {}): Promise<SmallDisk> {
    const path = await mkdtemp(join(tmpdir(), "ttyhq-disk-"));
    const owner = `mode=0700,uid=${process.getuid?.()}`;
    const limits = `size=${bytes}${inodes === undefined ? "" : `,nr_inodes=${inodes}`}`;
    await asRoot(["mount", "-t", "tmpfs", "-o", `${limits},${owner}`, "ttyhq-test", path]);
    return new SmallDisk(path);
  }

  fill(): Promise<() => Promise<void>> {
    return fill(this.path);
  }

  /** Uses all remaining inodes; a second call also takes those freed meanwhile. */
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

/** Fills all remaining space of a disk, down to the last byte. Returns a function that frees it. */
export async function fill(path: string): Promise<() => Promise<void>> {
  const ballast = join(path, "ballast");
  for (const bytes of [1024 * 1024, 1]) {
    const piece = new Uint8Array(bytes);
    for (let isFull = false; !isFull; )
      isFull = await appendFile(ballast, piece).then(() => false, isNoSpace);
  }
  return () => rm(ballast);
}

/** Waits until nobody uses it: a terminated program may take a moment to end. */
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
