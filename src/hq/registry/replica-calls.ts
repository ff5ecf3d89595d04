import { randomUUID } from "node:crypto";
import { z } from "zod";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { GroupCalls } from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { REPLICA_CALL_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { RedisTables } from "./redis-tables.ts";

const SEAL = "replica call";
const Message = z.object({
  to: z.string(),
  from: z.string(),
  call: z.string(),
  kind: z.enum(["request", "received", "answer"]),
  text: z.string(),
});
type Message = z.infer<typeof Message>;

type Call = { readonly received: () => void; readonly answered: (text: string) => void };

/** Calls between HQs, as messages in the stream of changes, which all receive. A message that is lost fails its call. */
export class ReplicaCalls implements GroupCalls {
  readonly ownId: string;
  readonly #tables: Pick<RedisTables, "send">;
  readonly #seal: Seal;
  readonly #calls = new Map<string, Call>();
  #answer: (request: string) => Promise<string> = async () => "";

  constructor(parts: {
    readonly tables: Pick<RedisTables, "send" | "onMessage">;
    readonly seal: Seal;
    readonly replicaId: string;
  }) {
    this.ownId = parts.replicaId;
    this.#tables = parts.tables;
    this.#seal = parts.seal;
    parts.tables.onMessage((sealed) => this.#heard(sealed));
  }

  serve(answer: (request: string) => Promise<string>): void {
    this.#answer = answer;
  }

  async call(to: string, request: string, timeoutMs: number): Promise<string> {
    const call = randomUUID();
    const received = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    this.#calls.set(call, { received: received.resolve, answered: answer.resolve });
    try {
      await this.#send({ to, call, kind: "request", text: request });
      await withDeadline(received.promise, REPLICA_CALL_TIMEOUT_MS, "the HQ that was called");
      return await withDeadline(answer.promise, timeoutMs, "the answer of the HQ that was called");
    } finally {
      this.#calls.delete(call);
    }
  }

  async #send(message: Omit<Message, "from">): Promise<void> {
    const text = JSON.stringify({ ...message, from: this.ownId } satisfies Message);
    await this.#tables.send(this.#seal.seal(SEAL, text));
  }

  #heard(sealed: string): void {
    const message = this.#seal.openJson(SEAL, sealed, Message);
    if (message === undefined || message.to !== this.ownId) return;
    const { kind, call, text } = message;
    // If the caller cannot be told, its deadline ends the call.
    if (kind === "request") void this.#serve(message).catch(() => undefined);
    else if (kind === "received") this.#calls.get(call)?.received();
    else this.#calls.get(call)?.answered(text);
  }

  async #serve({ from: to, call, text: request }: Message): Promise<void> {
    const answer = this.#answer(request);
    await this.#send({ to, call, kind: "received", text: "" });
    await this.#send({ to, call, kind: "answer", text: await answer });
  }
}
