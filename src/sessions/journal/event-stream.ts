// Server-sent events of a recording: the header, then one event for each line of the asciicast, then the exit.

import type { Session } from "../session.ts";
import { growthOf } from "./growth.ts";
import { castText } from "./recording.ts";

const HEARTBEAT_MS = 30_000;

/** Events have their number as id, from 1 on; those up to `after` are left out, which is how Last-Event-ID resumes. */
export async function* eventStream(
  session: Session,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(":ok\n\n");
  const lines = numberedLines(session, signal);
  const pulse = new Pulse(signal);
  try {
    for (let next = lines.next(); !signal.aborted; ) {
      const step = await Promise.race([next, pulse.next()]);
      if (step === "beat") {
        yield encoder.encode(":heartbeat\n\n");
        continue;
      }
      if (step.done === true) return;
      const { number, line } = step.value;
      if (number > after) yield encoder.encode(`id: ${number}\ndata: ${line}\n\n`);
      next = lines.next();
    }
  } finally {
    pulse[Symbol.dispose]();
    // Not awaited: it may be waiting for output that comes much later.
    void lines.return(undefined);
  }
}

async function* numberedLines(
  session: Session,
  signal: AbortSignal,
): AsyncGenerator<{ number: number; line: string }, undefined> {
  let number = 0;
  for await (const piece of castText(session.stored, session.files, growthOf(session, signal))) {
    for (const line of piece.trimEnd().split("\n")) {
      number += 1;
      yield { number, line };
    }
  }
  const exit = session.stored.exit;
  if (exit !== undefined) yield { number: number + 1, line: JSON.stringify(["exit", exit.code, session.id]) };
  return undefined;
}

/** A beat every 30 s, and one when the client has gone, for whoever waits for it then. */
class Pulse implements Disposable {
  readonly #signal: AbortSignal;
  readonly #beat = (): void => this.#resolve("beat");
  readonly #timer = setInterval(this.#beat, HEARTBEAT_MS).unref();
  #resolve: (beat: "beat") => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#beat);
  }

  /** Another promise for each wait: one that lasts would keep everything that it was raced with. */
  next(): Promise<"beat"> {
    const { promise, resolve } = Promise.withResolvers<"beat">();
    this.#resolve = resolve;
    return promise;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#signal.removeEventListener("abort", this.#beat);
  }
}
