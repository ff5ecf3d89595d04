import type { SessionBackend } from "../sessions/backend.ts";

/** Reads a stretch of the past, one piece at a time, as fast as the viewer takes them and no faster. */
export class CatchUp implements AsyncDisposable {
  readonly #backend: SessionBackend;
  readonly #sessionId: string;
  readonly #abort = new AbortController();
  #body: AsyncIterator<Uint8Array> | undefined;

  constructor(backend: SessionBackend, sessionId: string) {
    this.#backend = backend;
    this.#sessionId = sessionId;
  }

  /** The next bytes from `from` on, before `to`; undefined when they are not held any more. */
  async read(from: number, to: number): Promise<Uint8Array | undefined> {
    const hadBody = this.#body !== undefined;
    this.#body ??= await this.#open(from, to);
    const step = await this.#body.next();
    if (step.done !== true) return step.value;
    this.#body = undefined;
    // The stretch that was asked for earlier is over; what came since then is another one.
    return hadBody ? this.read(from, to) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#body?.return?.();
  }

  async #open(from: number, to: number): Promise<AsyncIterator<Uint8Array>> {
    const content = await this.#backend.view(
      this.#sessionId,
      { kind: "output", from, to },
      this.#abort.signal,
    );
    return content.body[Symbol.asyncIterator]();
  }
}
