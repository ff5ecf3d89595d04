// Server-sent events of a recording: the header, then one event for each line of the asciicast, then the exit.

import type { Session } from "../session.ts";
import { growthOf } from "./growth.ts";
import { castText } from "./recording.ts";

const HEARTBEAT_MS = 30_000;

/** Ids count events from 1; the stream resumes behind `after` (Last-Event-ID). */
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
    // Not awaited: it may be waiting for output.
    void lines.return(undefined);
  }
}

async function* numberedLines(
  session: Session,
  signal: AbortSignal,
): AsyncGenerator<{ number: number; line: string }, undefined> {
  let number = 0;
  const decoder = new TextDecoder();
  for await (const piece of castText(session.stored, session.files, growthOf(session, signal))) {
    for (const line of decoder.decode(piece).trimEnd().split("\n")) {
      number += 1;
      yield { number, line };
    }
  }
  const exit = session.stored.exit;
  if (exit !== undefined) yield { number: number + 1, line: JSON.stringify(["exit", exit.code, session.id]) };
  return undefined;
}

/** A beat every 30 s, and one when the client disconnects. */
class Pulse implements Disposable {
  readonly #signal: AbortSignal;
  readonly #beat = (): void => this.#resolve("beat");
  readonly #timer = setInterval(this.#beat, HEARTBEAT_MS).unref();
  #resolve: (beat: "beat") => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#beat);
  }

  /** A new promise for each wait: a long-lived one would leak the promises that it races with. */
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
