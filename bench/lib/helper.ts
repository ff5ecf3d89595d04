// A helper process of the benchmark: generating load must not slow down the measurement.
import { type ChildProcess, fork } from "node:child_process";
import { withDeadline } from "../../src/lib/async/deadline.ts";

/** The longest duration of a call, unless the caller sets another. */
const CALL_TIMEOUT_MS = 60_000;

/** The calls of a helper. Arguments and answers are data that can be sent between processes. */
export type Calls = Readonly<Record<string, (...words: never[]) => Promise<unknown>>>;

type CallMessage = { readonly id: number; readonly name: string; readonly words: readonly unknown[] };
type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string };

/** One object per call, answered in any order. Disposal ends the process at once. */
export class Helper<C extends Calls> implements Disposable {
  readonly #child: ChildProcess;
  readonly #about: string;
  readonly #waiting = new Map<number, (answer: AnswerMessage) => void>();
  #lastId = 0;

  /** `main` calls `answerCalls` with a C. `about` names it in errors. */
  constructor(main: URL, about: string) {
    this.#about = about;
    this.#child = fork(main, { serialization: "advanced", stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (answer: AnswerMessage) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    this.#child.on("exit", () => {
      for (const [id, give] of this.#waiting) give({ id, error: `${about} ended` });
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws Error with the helper's failure, or after a timeout. */
  async call<N extends keyof C & string>(
    name: N,
    words: Parameters<C[N]>,
    timeoutMs: number = CALL_TIMEOUT_MS,
  ): Promise<Awaited<ReturnType<C[N]>>> {
    const message: CallMessage = { id: ++this.#lastId, name, words };
    const answered = new Promise<AnswerMessage>((resolve) => this.#waiting.set(message.id, resolve));
    this.#child.send(message);
    const answer = await withDeadline(answered, timeoutMs, `${name} of ${this.#about}`);
    if ("error" in answer) throw new Error(`${name}: ${answer.error}`);
    // Both sides of this channel have the same C, which a message cannot carry.
    return answer.value as Awaited<ReturnType<C[N]>>;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

/** Turns this process into a helper; it ends with its parent. */
export function answerCalls(calls: Calls): void {
  const answer = async ({ id, name, words }: CallMessage): Promise<AnswerMessage> => {
    try {
      // Both sides of this channel have the same calls, which a message cannot carry.
      return { id, value: await calls[name]?.(...(words as never[])) };
    } catch (error) {
      return { id, error: error instanceof Error ? error.message : String(error) };
    }
  };
  process.on("message", async (message: CallMessage) => process.send?.(await answer(message)));
  process.on("disconnect", () => process.exit(0));
}
