// Calls and events between two processes, in both directions, as JSON lines over a stream.
import type { Duplex } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import { errorFromBody, ServiceError } from "../../protocol/errors.ts";

/** The receiver validates the input, the caller the answer. */
export type Method<Input, Answer> = {
  readonly name: string;
  readonly input: z.ZodType<Input>;
  readonly answer: z.ZodType<Answer>;
};

export function method<Input, Answer>(
  name: string,
  input: z.ZodType<Input>,
  answer: z.ZodType<Answer>,
): Method<Input, Answer> {
  return { name, input, answer };
}

export function event<Input>(name: string, input: z.ZodType<Input>): Method<Input, undefined> {
  return { name, input, answer: z.undefined() };
}

/** Of the other side: a peer that waits for no answer would fill the memory. */
const MAX_RUNNING_CALLS = 10_000;
const MAX_ERROR_LENGTH = 16_384;
const Failure = z.object({
  error: z.string().transform((text) => text.slice(0, MAX_ERROR_LENGTH)),
  code: z.string(),
  details: z.record(z.string(), z.unknown()),
});
const Message = z.union([
  /** Events have no id. */
  z.object({ method: z.string(), input: z.unknown(), id: z.int().optional() }),
  z.object({ cancel: z.int() }),
  z.object({ id: z.int(), failure: Failure }),
  z.object({ id: z.int(), answer: z.unknown().optional() }),
]);
type Message = z.infer<typeof Message>;

type Handler = (input: unknown, signal: AbortSignal) => () => unknown;
type Pending = { readonly accept: (answer: unknown) => void; readonly reject: (error: unknown) => void };

/**
 * One end of the stream. An invalid message, one longer than `maxLength` UTF-16 units, and more than MAX_RUNNING_CALLS
 * from the other side end the stream, as do more than `maxQueued` bytes that the other side does not read.
 */
export class RpcPeer {
  readonly #stream: Duplex;
  readonly #handlers = new Map<string, Handler>();
  /** Calls to the other side. */
  readonly #pending = new Map<number, Pending>();
  /** Calls from the other side. */
  readonly #running = new Map<number, AbortController>();
  readonly #maxQueued: number;
  #lastId = 0;
  #closed: ServiceError | undefined;

  constructor(stream: Duplex, maxLength: number, maxQueued = Number.POSITIVE_INFINITY) {
    this.#stream = stream;
    this.#maxQueued = maxQueued;
    onLines(stream, maxLength, (line) => this.#receive(Message.parse(JSON.parse(line))));
    // The `close` event reports the end.
    stream.on("error", () => undefined);
  }

  /** Whether a call waits for its answer. */
  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  serve<Input, Answer>(
    { name, input }: Pick<Method<Input, Answer>, "name" | "input">,
    handler: (input: Input, signal: AbortSignal) => Answer | Promise<Answer>,
  ): void {
    this.#handlers.set(name, (given, signal) => {
      const valid = input.parse(given);
      return () => handler(valid, signal);
    });
  }

  /** Rejects with the other side's errors, the reason of `signal`, and that of `close`. */
  async call<Input, Answer>(
    { name, answer }: Method<Input, Answer>,
    input: Input,
    signal?: AbortSignal,
  ): Promise<Answer> {
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#pending.set(id, { accept: (value) => resolve(answer.parse(value)), reject });
    const cancel = (): void => {
      this.#send({ cancel: id });
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      this.#send({ method: name, input, id });
      return await promise;
    } finally {
      this.#pending.delete(id);
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Dropped after the end of the stream. */
  emit<Input>({ name }: Pick<Method<Input, undefined>, "name" | "input">, input: Input): void {
    this.#send({ method: name, input });
  }

  /** Calls fail and calls from the other side are cancelled. */
  close(reason: ServiceError): void {
    this.#closed ??= reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    for (const running of this.#running.values()) running.abort(reason);
  }

  #send(message: Message): void {
    if (!this.#stream.writable) return;
    this.#stream.write(`${JSON.stringify(message)}\n`);
    if (this.#stream.writableLength > this.#maxQueued)
      this.#stream.destroy(new Error("the other side does not read"));
  }

  #receive(message: Message): void {
    if ("method" in message) this.#run(message);
    else if ("cancel" in message) this.#running.get(message.cancel)?.abort();
    else if ("failure" in message)
      this.#pending.get(message.id)?.reject(errorFromBody(message.failure, "internal_error", "call failed"));
    else this.#pending.get(message.id)?.accept(message.answer);
  }

  #run({ method, input, id }: Extract<Message, { method: string }>): void {
    const handler = this.#handlers.get(method);
    if (handler === undefined) throw new Error(`unknown method ${method}`);
    const call = new AbortController();
    if (this.#running.size >= MAX_RUNNING_CALLS) throw new RangeError("too many calls wait for an answer");
    const run = handler(input, call.signal);
    const result = started(run);
    if (id === undefined) {
      // As for a malformed message: the other side may be hostile, and must not end this process.
      result.catch((error: Error) => this.#stream.destroy(error));
      return;
    }
    this.#running.set(id, call);
    void result
      .then(
        (answer) => this.#send({ id, answer }),
        (error: unknown) => this.#send({ id, failure: failureOf(error) }),
      )
      .finally(() => this.#running.delete(id));
  }
}

/** A function of its own: a closure of the caller would keep the input in memory until the call ends. */
function started(run: () => unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(run()));
}

/** An error of `onLine` ends the stream. */
function onLines(stream: Duplex, maxLength: number, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let pieces: string[] = [];
  let length = 0;
  const receive = (bytes: Buffer): void => {
    for (const [index, part] of decoder.write(bytes).split("\n").entries()) {
      if (index > 0) {
        const line = pieces.join("");
        [pieces, length] = [[], 0];
        if (!stream.destroyed) onLine(line);
      }
      pieces.push(part);
      length += part.length;
      if (length > maxLength) throw new RangeError("a message is too long");
    }
  };
  stream.on("data", (bytes: Buffer) => {
    try {
      receive(bytes);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : undefined);
    }
  });
}

/** Internal errors carry their stack: only the other side can log it. */
function failureOf(error: unknown): z.infer<typeof Failure> {
  if (error instanceof ServiceError)
    return { error: error.message, code: error.code, details: { ...error.details } };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { error: text, code: "internal_error", details: {} };
}
