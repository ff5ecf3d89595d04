import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";
import { tornEnd } from "./log-lines.ts";

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array();
/** All permissions of others, and the group's except for reading. */
const FOR_OTHERS = 0o037;

/** Whole lines that were written, and the reason if not all were. */
export type Appended = { readonly lines: number; readonly error?: unknown };

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
    status: {
      readonly inode: string;
      readonly isRegular: boolean;
      readonly bytes: number;
      readonly torn: Uint8Array;
    },
  ) {
    this.#handle = handle;
    this.#inode = status.inode;
    this.isRegular = status.isRegular;
    this.#bytes = status.bytes;
    this.#torn = status.torn;
  }

  /** New files have mode 0600. Opening a pipe or device, such as /dev/stdout, does not block. */
  static async open(path: string, log: Pick<Log, "warn">): Promise<LineFile> {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOCTTY } = constants;
    const handle = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0o600);
    try {
      const status = await handle.stat();
      const { dev, ino, mode, size } = status;
      const isRegular = status.isFile();
      if (isRegular && (mode & FOR_OTHERS) !== 0) await close(handle, mode, { path, log });
      // The owner may lack the permission to read the file.
      const torn = isRegular && size > 0 ? await tornEnd(path, size).catch(() => NOTHING) : NOTHING;
      return new LineFile(handle, {
        isRegular,
        torn,
        inode: inodeName(dev, ino),
        bytes: isRegular ? size : 0,
      });
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
    try {
      const { dev, ino } = await stat(path);
      return inodeName(dev, ino) === this.#inode;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return false;
      throw error;
    }
  }

  /** What an interrupted write left after the last whole line. The next append ends it with a newline. */
  get torn(): Uint8Array {
    return this.#torn;
  }

  /** Resolves when on disk. Never rejects. */
  async append(lines: readonly string[]): Promise<Appended> {
    const ending = this.#torn.length > 0 ? "\n" : "";
    const bytes = new TextEncoder().encode(ending + lines.join(""));
    try {
      const { bytesWritten } = await this.#handle.write(bytes);
      this.#bytes += bytesWritten;
      if (this.isRegular) await this.#handle.datasync();
      if (bytesWritten === bytes.length) {
        this.#torn = NOTHING;
        return { lines: lines.length };
      }
      const whole = newlinesIn(bytes.subarray(ending.length, bytesWritten));
      const end = whole === 0 ? 0 : bytes.lastIndexOf(NEWLINE, bytesWritten - 1) + 1;
      if (whole > 0) this.#torn = NOTHING;
      await this.#takeBack(bytes.subarray(end, bytesWritten));
      return { lines: whole, error: new Error(`the disk took ${bytesWritten} of ${bytes.length} bytes`) };
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
      if (!this.isRegular) throw new Error("nothing can be taken back");
      const { size } = await this.#handle.stat();
      await this.#handle.truncate(size - rest.length);
      this.#bytes -= rest.length;
    } catch {
      this.#torn = Buffer.concat([this.#torn, rest]);
    }
  }
}

/** The file's group may still read it. */
async function close(
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

function inodeName(device: number, inode: number): string {
  return `${device}:${inode}`;
}

function newlinesIn(bytes: Uint8Array): number {
  return bytes.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
}
