// A program that prints numbered lines and waits for the slowest of its viewers. So even if the test's process is
// suspended, no viewer falls so far behind that it gets the screen. The waiting involves no server.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { FEED_WINDOW_BYTES } from "../../../src/protocol/limits.ts";
import { numberedLine, TERMINAL_LINE_BYTES } from "../fixtures/paced-lines.ts";
import type { Hashed, HashingViewer } from "./hashing-viewer.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/paced-lines.ts", import.meta.url));
/** Its maximum lead: slightly less than the allowed lag of a viewer that does not read. */
const AHEAD_BYTES = FEED_WINDOW_BYTES - 256 * 1024;

export class PacedProgram implements AsyncDisposable {
  /** Can be run once. */
  readonly command: string[];
  readonly #lines: number;
  readonly #server: Server;
  readonly #listening = new DisposableStack();
  #program: Socket | undefined;
  #viewers: readonly HashingViewer[] = [];

  private constructor(server: Server, port: number, lines: number, bytesPerSecond: number) {
    this.#server = server.on("connection", (program) => this.#begin(program));
    this.#lines = lines;
    this.command = [process.execPath, PROGRAM, `${lines}`, `${bytesPerSecond}`, `${port}`];
  }

  static async prepare(lines: number, bytesPerSecond: number): Promise<PacedProgram> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new PacedProgram(server, address.port, lines, bytesPerSecond);
  }

  /** The final result of each viewer: the lines after the terminal's conversion. */
  get expected(): Hashed {
    const hash = createHash("sha256");
    for (let first = 0; first < this.#lines; first += 1_000) {
      let block = "";
      const end = Math.min(first + 1_000, this.#lines);
      for (let number = first; number < end; number += 1) block += numberedLine(number);
      hash.update(block.replaceAll("\n", "\r\n"));
    }
    return { sha256: hash.digest("hex"), bytes: this.#lines * TERMINAL_LINE_BYTES, resyncs: 0 };
  }

  /** Until this is called it prints only the allowed lead. */
  waitFor(viewers: readonly HashingViewer[]): void {
    this.#viewers = viewers;
    for (const viewer of viewers) this.#listening.use(viewer.onTaken(() => this.#allow()));
    // Nobody reports any more how much they read before.
    this.#allow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.dispose();
    this.#program?.destroy();
    await this.#server[Symbol.asyncDispose]();
  }

  #begin(program: Socket): void {
    // The program ends like all programs of a disposed server.
    program.on("error", () => undefined);
    this.#program = program;
    this.#allow();
  }

  #allow(): void {
    const slowest = this.#viewers.length === 0 ? 0 : Math.min(...this.#viewers.map(({ next }) => next));
    const lines = Math.floor((slowest + AHEAD_BYTES) / TERMINAL_LINE_BYTES);
    this.#program?.write(`${lines}\n`);
  }
}
