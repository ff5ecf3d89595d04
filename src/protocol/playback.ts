// Playing a recording: its pace, pauses and seeks, for the page and the command line. Times are seconds of the playback,
// in which pauses of the recording may be shorter.
import type { CastFileEvent } from "./asciicast.ts";

/** Output that is due is written in pieces of at most about this many characters. */
const MAX_WRITE_CHARACTERS = 256 * 1024;

/** `due`: when it is played. */
export type TimedEvent = CastFileEvent & { readonly due: number };

/** Times are whole microseconds, as in recordings: browsers round the values of sliders, and sums of fractions drift. */
const TICKS_PER_S = 1e6;

/** When each event is played if pauses are cut to `idleLimit` seconds. */
export class Timeline {
  readonly #idleLimit: number;
  #last = 0;
  #due = 0;

  constructor(idleLimit: number = Number.POSITIVE_INFINITY) {
    this.#idleLimit = idleLimit;
  }

  /** To be called for each event, in order. */
  next(event: CastFileEvent): TimedEvent {
    const due = this.#due + Math.min(Math.max(0, event.time - this.#last), this.#idleLimit);
    this.#due = Math.round(due * TICKS_PER_S) / TICKS_PER_S;
    this.#last = Math.max(this.#last, event.time);
    return { ...event, due: this.#due };
  }

  async *of(events: AsyncIterable<CastFileEvent>): AsyncGenerator<TimedEvent> {
    for await (const event of events) yield this.next(event);
  }
}

/** `speed`: 2 is twice as fast. */
type PlaybackState = { readonly position: number; readonly isPaused: boolean; readonly speed: number };

/** The position of a playback. It advances with time unless the playback is paused. */
export class PlaybackClock {
  readonly #now: () => number;
  /** At `since`, milliseconds of `now`. */
  #state: PlaybackState & { readonly since: number };
  #change = new AbortController();

  constructor({ now, ...start }: Partial<PlaybackState> & { readonly now: () => number }) {
    this.#now = now;
    this.#state = { position: 0, isPaused: false, speed: 1, ...start, since: now() };
  }

  get position(): number {
    const { position, since, isPaused, speed } = this.#state;
    return isPaused ? position : position + ((this.#now() - since) / 1000) * speed;
  }

  get isPaused(): boolean {
    return this.#state.isPaused;
  }

  /** Aborted at the next change. */
  get changed(): AbortSignal {
    return this.#change.signal;
  }

  /** Milliseconds until then; infinite while it is paused. */
  msUntil(due: number): number {
    const { isPaused, speed } = this.#state;
    return isPaused ? Number.POSITIVE_INFINITY : ((due - this.position) / speed) * 1000;
  }

  set(change: Partial<PlaybackState>): void {
    const { position = this.position } = change;
    this.#state = { ...this.#state, ...change, position: Math.max(0, position), since: this.#now() };
    const before = this.#change;
    this.#change = new AbortController();
    before.abort();
  }
}

type PlayOptions = {
  readonly clock: PlaybackClock;
  readonly write: (text: string) => void | Promise<void>;
  /** Every event but output, in its place; output before it is written. */
  readonly onEvent?: (event: TimedEvent) => void;
  /** Resolves after `ms`, which may be infinite, or when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Events up to then are written already. */
  readonly written?: number;
  /** Whether the next event may take any time: output is then not held back for more of it. */
  readonly isStreamed?: boolean;
};

/** `rewound`: the clock was set to a time before the written output, so the recording must be played again from the start. */
export type PlayOutcome = "ended" | "rewound" | "stopped";

/** Writes the output of events when the clock reaches them; of events that are all there, all that is due at once. */
export async function playEvents(
  events: AsyncIterable<TimedEvent> | Iterable<TimedEvent>,
  options: PlayOptions,
): Promise<PlayOutcome> {
  const { clock, write, onEvent, wait, signal, isStreamed = Symbol.asyncIterator in events } = options;
  let { written = 0 } = options;
  let text = "";
  const flush = async (): Promise<void> => {
    if (text !== "" && !signal.aborted) await write(text);
    text = "";
  };
  for await (const event of events) {
    while (event.due > clock.position) {
      await flush();
      if (clock.position < written) return "rewound";
      await wait(clock.msUntil(event.due), AbortSignal.any([signal, clock.changed]));
      if (signal.aborted) return "stopped";
      if (clock.position < written) return "rewound";
    }
    if (signal.aborted) return "stopped";
    written = event.due;
    if (event.code === "o") text += event.data;
    else if (onEvent !== undefined) {
      await flush();
      onEvent(event);
    }
    if (isStreamed || text.length > MAX_WRITE_CHARACTERS) await flush();
  }
  await flush();
  return "ended";
}
