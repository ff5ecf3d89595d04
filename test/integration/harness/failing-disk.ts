// A disk that becomes read-only during use, as ext4 does after an error.
import { mkdtemp, open, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asRoot, unmount } from "./small-disk.ts";

/** ext4 in a file on a loop device; mounting it needs root, or sudo without a password. */
export class FailingDisk implements AsyncDisposable {
  readonly path: string;
  readonly #image: string;

  private constructor(path: string, image: string) {
    this.path = path;
    this.#image = image;
  }

  static async make(bytes: number): Promise<FailingDisk> {
    const path = await mkdtemp(join(tmpdir(), "ttyhq-disk-"));
    const image = `${path}.img`;
    await using file = await open(image, "wx");
    await file.truncate(bytes);
    await asRoot(["mkfs.ext4", "-q", "-E", `root_owner=${process.getuid?.()}:${process.getgid?.()}`, image]);
    const disk = new FailingDisk(path, image);
    await disk.#mount();
    return disk;
  }

  /** From now on all writes fail, also through open files. */
  fail(): Promise<void> {
    return asRoot(["mount", "-o", "remount,abort", this.path]);
  }

  /** The administrator's repair; nobody may be using the disk. */
  async mountAgain(): Promise<void> {
    await unmount(this.path);
    await asRoot(["sh", "-c", `e2fsck -p ${this.#image} || [ $? -eq 1 ]`]);
    await this.#mount();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await unmount(this.path);
    await rmdir(this.path);
    await rm(this.#image);
  }

  #mount(): Promise<void> {
    return asRoot(["mount", "-o", "loop", this.#image, this.path]);
  }
}
