import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";
import { inodeName, tornEnd } from "./log-lines.ts";

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array();
/** All permissions of others, and the group's except for reading. */
const FOR_OTHERS = 0o037;
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOCTTY } = constants;
/** Opening a pipe or device, such as /dev/stdout, does not block. */
const APPEND = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY;

/** A file of whole lines: one write for all of them. A line that the disk took in part is taken back. */
export class LineFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #inode: string;
  /** Pipes and devices have no size and are never moved. */
  readonly isRegular: boolean;
  #bytes: number;
  #torn: Uint8Array;

  private constructor(
    handle: FileHandle,
    status: { dev: number; ino: number; size: number },
    torn: Uint8Array | undefined,
  ) {
    this.#handle = handle;
    this.#inode = inodeName(status);
    this.isRegular = torn !== undefined;
    this.#bytes = this.isRegular ? status.size : 0;
    this.#torn = torn ?? NOTHING;
  }

  /** New files have mode 0600. */
  static async open(path: string, log: Pick<Log, "warn">): Promise<LineFile> {
    const handle = await open(path, APPEND, 0o600);
    try {
      const status = await handle.stat();
      if (!status.isFile()) return new LineFile(handle, status, undefined);
      if ((status.mode & FOR_OTHERS) !== 0) await closeToOthers(handle, status.mode, { path, log });
      // The owner may lack the permission to read the file.
      const file = new LineFile(handle, status, await tornEnd(path, status.size).catch(() => NOTHING));
      // Another server that writes or rotates at this moment has not been interrupted.
      const isAlone = async () => (await file.isAt(path)) && (await handle.stat()).size === status.size;
      if (file.#torn.length > 0 && !(await isAlone())) file.#torn = NOTHING;
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** As counted by this process. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the path still names this file. */
  async isAt(path: string): Promise<boolean> {
    if (!this.isRegular) return true;
    const status = await stat(path).catch(unlessMissing);
    return status !== undefined && inodeName(status) === this.#inode;
  }

  /** The rest of an interrupted write after the last whole line. The next append ends it with a newline. */
  get torn(): Uint8Array {
    return this.#torn;
  }

  /** The whole lines that are in the file, and the reason if not all are, or if the disk did not confirm them. Never rejects. */
  async append(lines: readonly string[]): Promise<{ readonly lines: number; readonly error?: unknown }> {
    const ending = this.#torn.length > 0 ? "\n" : "";
    const bytes = Buffer.from(ending + lines.join(""));
    try {
      const { bytesWritten } = await this.#handle.write(bytes);
      this.#bytes += bytesWritten;
      // Lines that are in the file keep their numbers, even if the disk did not confirm them.
      const unconfirmed: unknown = this.isRegular
        ? await this.#handle.datasync().catch((error: unknown) => error)
        : undefined;
      const written = bytes.subarray(ending.length, bytesWritten);
      const whole = written.subarray(0, written.lastIndexOf(NEWLINE) + 1);
      const count = whole.filter((byte) => byte === NEWLINE).length;
      if (count > 0) this.#torn = NOTHING;
      if (bytesWritten === bytes.length) return { lines: count, error: unconfirmed };
      // Without a whole line the newline that ends the torn one is taken back as well.
      await this.#takeBack(count === 0 ? bytes.subarray(0, bytesWritten) : written.subarray(whole.length));
      return { lines: count, error: new Error(`the disk took ${bytesWritten} of ${bytes.length} bytes`) };
    } catch (error) {
      return { lines: 0, error };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  /** An append-only file keeps the rest of a line, and the next append ends it. */
  async #takeBack(rest: Uint8Array): Promise<void> {
    if (rest.length === 0) return;
    try {
      if (!this.isRegular) throw new Error("only a regular file can be truncated");
      const { size } = await this.#handle.stat();
      await this.#handle.truncate(size - rest.length);
      this.#bytes -= rest.length;
    } catch {
      this.#torn = Buffer.concat([this.#torn, rest]);
    }
  }
}

/** The file's group may still read it. */
async function closeToOthers(
  handle: FileHandle,
  mode: number,
  { path, log }: { readonly path: string; readonly log: Pick<Log, "warn"> },
): Promise<void> {
  try {
    await handle.chmod(mode & ~FOR_OTHERS & 0o777);
    log.warn({ path }, "audit log was open to others, now closed");
  } catch (error) {
    log.warn({ path, error }, "audit log is open to others");
  }
}
