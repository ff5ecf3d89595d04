import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { isErrno } from "../lib/atomic-file.ts";
import type { Log } from "../log.ts";

const NEWLINE = 0x0a;
/** Rights that nobody but the owner has, but for the group's to read. */
const FOR_OTHERS = 0o037;

/** What a write left behind: whole lines, and why it was not all of them. */
export type Appended = { readonly lines: number; readonly error?: unknown };

/** A file that lines are added to, whole: one write for all of them; what the disk took of a line in part is taken back. */
export class LineFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #inode: string;
  /** Others (pipes, devices) have no size, and stay where they are. */
  readonly isRegular: boolean;
  #bytes: number;
  /** Its last line has no end. */
  #isTorn: boolean;

  private constructor(
    handle: FileHandle,
    facts: {
      readonly inode: string;
      readonly isRegular: boolean;
      readonly bytes: number;
      readonly isTorn: boolean;
    },
  ) {
    this.#handle = handle;
    this.#inode = facts.inode;
    this.isRegular = facts.isRegular;
    this.#bytes = facts.bytes;
    this.#isTorn = facts.isTorn;
  }

  /** Of mode 0600 where it is made; a pipe or device, such as /dev/stdout, is never waited for. */
  static async open(path: string, log: Pick<Log, "warn">): Promise<LineFile> {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOCTTY } = constants;
    const handle = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0o600);
    try {
      const facts = await handle.stat();
      const { dev, ino, mode, size } = facts;
      const isRegular = facts.isFile();
      if (isRegular && (mode & FOR_OTHERS) !== 0) await close(handle, mode, { path, log });
      const isTorn = isRegular && size > 0 && (await lastByte(path, size)) !== NEWLINE;
      return new LineFile(handle, {
        isRegular,
        isTorn,
        inode: inodeName(dev, ino),
        bytes: isRegular ? size : 0,
      });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** As far as this process knows. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether that path still leads here. */
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

  /** Never rejects. */
  async append(lines: readonly string[]): Promise<Appended> {
    const bytes = new TextEncoder().encode(lines.join(""));
    try {
      if (this.#isTorn) await this.#handle.write("\n");
      this.#isTorn = false;
      const { bytesWritten } = await this.#handle.write(bytes);
      this.#bytes += bytesWritten;
      if (bytesWritten === bytes.length) return { lines: lines.length };
      const whole = bytes.subarray(0, bytes.subarray(0, bytesWritten).lastIndexOf(NEWLINE) + 1);
      await this.#takeBack(bytesWritten - whole.length);
      const error = new Error(`the disk took ${bytesWritten} of ${bytes.length} bytes`);
      return { lines: newlinesIn(whole), error };
    } catch (error) {
      return { lines: 0, error };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  /** A file that can only be added to keeps what it has, and the next line ends it. */
  async #takeBack(bytes: number): Promise<void> {
    if (bytes === 0) return;
    this.#isTorn = true;
    if (!this.isRegular) return;
    try {
      const { size } = await this.#handle.stat();
      await this.#handle.truncate(size - bytes);
      this.#isTorn = false;
      this.#bytes -= bytes;
    } catch {
      // It stays torn.
    }
  }
}

/** To others; the file's own group may read it. */
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

/** Where it cannot be read nobody knows, and nothing is done about it. */
async function lastByte(path: string, size: number): Promise<number | undefined> {
  try {
    await using file = await open(path, "r");
    const { bytesRead, buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return bytesRead === 1 ? buffer[0] : NEWLINE;
  } catch {
    return NEWLINE;
  }
}

function inodeName(device: number, inode: number): string {
  return `${device}:${inode}`;
}

function newlinesIn(bytes: Uint8Array): number {
  return bytes.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
}
