// A disk that becomes read-only under those who use it, as ext4 does when it finds an error.
import { mkdtemp, open, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asRoot, unmount } from "./small-disk.ts";

/** ext4 in a file, by way of a loop device; mounting it takes root, or sudo without a password. */
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

  /** From now on nothing can be written, whoever has files open. */
  fail(): Promise<void> {
    return asRoot(["mount", "-o", "remount,abort", this.path]);
  }

  /** What the administrator does about it; nobody may be using it. */
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
