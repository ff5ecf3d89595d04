// Programs ask the terminal questions (what are you, where is the cursor, which colours) and the emulator answers as if
// it had been typed. An answer is right once and at once; so it is swallowed
// - for output of the past: the question was answered, or its program is long gone, and the answer would appear as
//   garbage at a shell's prompt;
// - where several windows watch a session, in all but the one whose size it has: each of them would answer. There is at
//   most one such window, and the size is a matter of the same kind: what the program may take its terminal to be.
// Only the questions are swallowed, at the place in the output where they stand: what a person types meanwhile passes.
import type { IDisposable, IParser } from "@xterm/xterm";

const FOCUS_REPORTS: readonly string[] = ["\x1b[I", "\x1b[O"];
const FOCUS_MODE = 1004;
const COLOR_COMMANDS = [4, 10, 11, 12];

export class QueryGate implements Disposable {
  readonly #mayAnswer: () => boolean;
  readonly #handlers: IDisposable[];
  #isFocusReportDue = false;

  /** `mayAnswer` is asked while the output that holds a question is being parsed. */
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

  /** Whether what the emulator wants to send is to be sent. */
  passes(data: string): boolean {
    if (!this.#isFocusReportDue || !FOCUS_REPORTS.includes(data)) return true;
    this.#isFocusReportDue = false;
    return false;
  }

  [Symbol.dispose](): void {
    for (const handler of this.#handlers) handler.dispose();
  }

  // Turning focus reports on reports at once. The mode itself must be set, so that one report is held back instead.
  #modeSet(params: readonly (number | number[])[]): boolean {
    if (params.includes(FOCUS_MODE) && !this.#mayAnswer()) this.#isFocusReportDue = true;
    return false;
  }
}
