// Programs send the terminal queries (device attributes, cursor position, colours), and the emulator answers as if typed.
// An answer is right only once and at once. So it is suppressed:
// - for earlier output: its query was answered, or its program has ended, and the answer would be garbage at a prompt;
// - in all windows but the one that set the session's size: otherwise each of several windows would answer. At most one
//   window sets the size, and the size, too, tells the program about its terminal.
// Only answers are suppressed, at the place of their queries in the output: typed input passes.
import type { IDisposable, IParser } from "@xterm/xterm";

const FOCUS_REPORTS: readonly string[] = ["\x1b[I", "\x1b[O"];
const FOCUS_MODE = 1004;
const COLOR_COMMANDS = [4, 10, 11, 12];

export class QueryGate implements Disposable {
  readonly #mayAnswer: () => boolean;
  readonly #handlers: IDisposable[];
  #isFocusReportDue = false;

  /** `mayAnswer` is called while the output with a query is being parsed. */
  constructor(parser: IParser, mayAnswer: () => boolean) {
    this.#mayAnswer = mayAnswer;
    const swallow = (): boolean => !mayAnswer();
    this.#handlers = [
      parser.registerCsiHandler({ final: "c" }, swallow),
      parser.registerCsiHandler({ prefix: ">", final: "c" }, swallow),
      parser.registerCsiHandler({ final: "n" }, swallow),
      parser.registerCsiHandler({ prefix: "?", final: "n" }, swallow),
      parser.registerCsiHandler({ intermediates: "$", final: "p" }, swallow),
      parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, swallow),
      parser.registerCsiHandler({ prefix: "?", final: "S" }, swallow),
      parser.registerDcsHandler({ intermediates: "$", final: "q" }, swallow),
      parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => this.#modeSet(params)),
      ...COLOR_COMMANDS.map((command) =>
        parser.registerOscHandler(command, (data) => data.includes("?") && !mayAnswer()),
      ),
    ];
  }

  /** Whether to send the emulator's data. */
  passes(data: string): boolean {
    if (!this.#isFocusReportDue || !FOCUS_REPORTS.includes(data)) return true;
    this.#isFocusReportDue = false;
    return false;
  }

  [Symbol.dispose](): void {
    for (const handler of this.#handlers) handler.dispose();
  }

  // Enabling focus reports sends a report at once. The mode itself must be set, so only that report is suppressed.
  #modeSet(params: readonly (number | number[])[]): boolean {
    if (params.includes(FOCUS_MODE) && !this.#mayAnswer()) this.#isFocusReportDue = true;
    return false;
  }
}
