import type { Send } from "../../../src/protocol/client/send.ts";

/** Answers by path, each in JSON. After its connection is lost a request hangs until it is aborted. */
export class LosingServer {
  readonly #answers: Readonly<Record<string, unknown>>;
  readonly #hanging = Promise.withResolvers<AbortSignal>();
  isLost = false;

  constructor(answers: Readonly<Record<string, unknown>>) {
    this.#answers = answers;
  }

  readonly send: Send = async ({ path, signal }) => {
    if (this.isLost) {
      this.#hanging.resolve(signal);
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => reject(signal.reason));
      return await promise;
    }
    const answer = JSON.stringify(this.#answers[path.replace(/\?.*/, "")]);
    return {
      ...{ status: 200, headers: new Map() },
      body: (async function* () {
        yield new TextEncoder().encode(answer);
      })(),
    };
  };

  /** The signal of the first request that hangs. */
  get hanging(): Promise<AbortSignal> {
    return this.#hanging.promise;
  }
}
