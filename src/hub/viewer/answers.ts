import { MAX_OPEN_REQUESTS } from "../../protocol/limits.ts";

/**
 * What a client is told about its requests: in the order of the requests, whatever order the backend settles them in.
 * A PONG thus says that everything before its PING was dealt with: that is how a gateway learns what became of input.
 */
export class Answers {
  #last: Promise<void> = Promise.resolve();
  #open = 0;

  /** So many are open that no further request should be begun before `settled`. */
  get isFull(): boolean {
    return this.#open >= MAX_OPEN_REQUESTS;
  }

  /** Resolves when everything so far was told. */
  get settled(): Promise<void> {
    return this.#last;
  }

  /** `refused` is told why `work` failed, in its turn. */
  follow(work: Promise<void>, refused: (error: unknown) => void): void {
    const before = this.#last;
    // Both are listened to at once: a request may fail long before its turn.
    const outcome = work.then(
      () => undefined,
      (error: unknown) => () => refused(error),
    );
    this.#open += 1;
    this.#last = before
      .then(() => outcome)
      .then((tell) => {
        this.#open -= 1;
        tell?.();
      });
  }

  /** After everything before it. */
  say(tell: () => void): void {
    if (this.#open === 0) tell();
    else this.#follow(tell);
  }

  #follow(tell: () => void): void {
    this.#open += 1;
    this.#last = this.#last.then(() => {
      this.#open -= 1;
      tell();
    });
  }
}
