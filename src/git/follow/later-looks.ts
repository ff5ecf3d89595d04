import { FOLLOW_RETRY_MS, MAX_FOLLOW_RETRY_MS } from "../git-limits.ts";

type Waiting = { timer: NodeJS.Timeout; delayMs: number };

/**
 * Looks at followed repositories that nobody asks for: FOLLOW_RETRY_MS after one that left something to do, and after
 * each that was no better twice as long, up to MAX_FOLLOW_RETRY_MS. At most one of a repository waits.
 */
export class LaterLooks implements Disposable {
  readonly #look: (repoPath: string) => void;
  readonly #waiting = new Map<string, Waiting>();
  #isOver = false;

  constructor(look: (repoPath: string) => void) {
    this.#look = look;
  }

  /** Another look is to be taken there. One that somebody had taken meanwhile makes the pause no longer. */
  add(repoPath: string): void {
    if (this.#isOver) return;
    const known = this.#waiting.get(repoPath);
    clearTimeout(known?.timer);
    const delayMs = known?.delayMs ?? FOLLOW_RETRY_MS;
    const timer = setTimeout(() => this.#due(repoPath), delayMs).unref();
    this.#waiting.set(repoPath, { timer, delayMs });
  }

  /** There is nothing left to do. */
  delete(repoPath: string): void {
    clearTimeout(this.#waiting.get(repoPath)?.timer);
    this.#waiting.delete(repoPath);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const repoPath of [...this.#waiting.keys()]) this.delete(repoPath);
  }

  #due(repoPath: string): void {
    const waiting = this.#waiting.get(repoPath);
    if (waiting !== undefined) waiting.delayMs = Math.min(waiting.delayMs * 2, MAX_FOLLOW_RETRY_MS);
    this.#look(repoPath);
  }
}
