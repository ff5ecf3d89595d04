import { type FileHandle, open } from "node:fs/promises";
import type { SessionFiles } from "../storage/control-dir.ts";

/** The two files of a journal, open for writing. What fails is rejected with as the system says it. */
export class JournalFiles {
  readonly #output: FileHandle;
  readonly #events: FileHandle;

  private constructor(output: FileHandle, events: FileHandle) {
    this.#output = output;
    this.#events = events;
  }

  /** Makes both, readable by their owner alone. */
  static async create(files: Pick<SessionFiles, "output" | "events">): Promise<JournalFiles> {
    const output = await open(files.output, "wx", 0o600);
    try {
      return new JournalFiles(output, await open(files.events, "wx", 0o600));
    } catch (error) {
      await output.close();
      throw error;
    }
  }

  /** Returns how many of the bytes the disk took, which is one at least. */
  async writeOutput(pieces: Uint8Array[], position: number): Promise<number> {
    const { bytesWritten } = await this.#output.writev(pieces, position);
    return accepted(bytesWritten);
  }

  /** The same for records. */
  async writeEvents(lines: Uint8Array, position: number): Promise<number> {
    const { bytesWritten } = await this.#events.write(lines, 0, lines.length, position);
    return accepted(bytesWritten);
  }

  async close(): Promise<void> {
    await Promise.all([this.#output.close(), this.#events.close()]);
  }
}

function accepted(bytesWritten: number): number {
  if (bytesWritten === 0) throw Object.assign(new Error("the disk takes no more bytes"), { code: "ENOSPC" });
  return bytesWritten;
}
