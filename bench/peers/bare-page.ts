import { join } from "node:path";
import { Child } from "../lib/child.ts";

/** The server of the bare page as a process. It ends with the object. */
export class BarePage implements AsyncDisposable {
  readonly #child: Child;
  readonly #origin: string;

  /** `program` runs in every terminal. */
  static async start(program: string): Promise<BarePage> {
    const child = await Child.start([
      process.execPath,
      join(import.meta.dirname, "bare-page-main.ts"),
      program,
    ]);
    return new BarePage(child, `http://127.0.0.1:${(await child.line(/listening on (\d+)/))[1]}`);
  }

  private constructor(child: Child, origin: string) {
    this.#child = child;
    this.#origin = origin;
  }

  /** Each visit starts the program with these arguments. */
  url(words: readonly string[], renderer: "DOM" | "WebGL" = "DOM"): string {
    const query = new URLSearchParams(renderer === "WebGL" ? { renderer: "webgl" } : {});
    for (const word of words) query.append("arg", word);
    return `${this.#origin}/?${query}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
