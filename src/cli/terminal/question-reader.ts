import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { ServiceError } from "../../protocol/errors.ts";
import type { InputStream, OutputStream } from "../process-context.ts";

/** Asks on standard error, so that standard output has only the result. Disposing lets the process end. */
export class QuestionReader implements Disposable {
  readonly #stderr: OutputStream;
  readonly #isTerminal: boolean;
  readonly #interface: Interface;
  readonly #lines: AsyncIterator<string>;
  #isShown = true;

  constructor({ stdin, stderr }: { readonly stdin: InputStream; readonly stderr: OutputStream }) {
    this.#stderr = stderr;
    this.#isTerminal = stdin.isTTY === true;
    const output = new Writable({
      write: (chunk, _, done) => {
        if (this.#isShown) stderr.write(chunk);
        done();
      },
    });
    this.#interface = createInterface({
      ...{ input: stdin, output, terminal: this.#isTerminal, historySize: 0, prompt: "" },
    });
    // Keeps lines that arrive early.
    this.#lines = this.#interface[Symbol.asyncIterator]();
  }

  say(text: string): void {
    this.#stderr.write(`${text}\n`);
  }

  /** Reads a line; hidden without `echo`. Throws `invalid_request` at the end of input. */
  async ask(question: string, { echo }: { readonly echo: boolean }): Promise<string> {
    this.#isShown = true;
    this.#interface.setPrompt(question);
    this.#interface.prompt();
    this.#isShown = echo;
    const { value, done } = await this.#lines.next();
    this.#isShown = true;
    if (this.#isTerminal && !echo) this.#stderr.write("\n");
    if (done === true) throw new ServiceError("invalid_request", "no answer: the input has ended");
    return value;
  }

  [Symbol.dispose](): void {
    this.#interface.close();
  }
}
