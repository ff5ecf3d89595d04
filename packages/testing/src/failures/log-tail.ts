/** Lines of a log in the message of a failure. */
export const SHOWN_LINES = 30;

/** The last megabyte of a log, as text. */
export class LogTail {
  #text = "";

  append(text: string): void {
    this.#text += text;
    if (this.#text.length > 2 * MAX_CHARACTERS) this.#text = this.#text.slice(-MAX_CHARACTERS);
  }

  get text(): string {
    return this.#text.slice(-MAX_CHARACTERS);
  }

  /** Its last lines for the message of a failure: under a title; empty if there are none. */
  last(lines: number, title: string): string {
    const all = this.#text.trimEnd();
    if (all === "") return "";
    return [
      `last lines of ${title}:`,
      ...all
        .split("\n")
        .slice(-lines)
        .map((line) => `  ${line}`),
    ].join("\n");
  }
}

const MAX_CHARACTERS = 1024 * 1024;
