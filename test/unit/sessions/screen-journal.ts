import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TerminalSize } from "../../../src/protocol/schemas/session.ts";
import type { ScreenSource } from "../../../src/sessions/screen/thread/message.ts";

type FileSource = ScreenSource & { readonly output: string; readonly checkpointPath: string };

/** Output of sessions in a directory of its own, which goes when this is disposed. */
export class ScreenJournal implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "ttyhq-screen-"));
  #count = 0;

  /** A new session with all of this output. */
  source(bytes: Uint8Array | string, size: TerminalSize = { cols: 80, rows: 24 }): FileSource {
    this.#count++;
    const output = join(this.#directory, `output-${this.#count}`);
    writeFileSync(output, bytes);
    return {
      id: `session-${this.#count}`,
      output,
      checkpointPath: join(this.#directory, `checkpoint-${this.#count}`),
      upTo: Buffer.byteLength(bytes),
      sizes: [{ offset: 0, ...size }],
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
