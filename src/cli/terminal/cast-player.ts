import type { CastFile } from "./cast-reader.ts";

export type PlayOptions = {
  /** 2 is twice as fast. */
  readonly speed: number;
  /** Longer pauses are cut to this many seconds; `undefined`: none is. */
  readonly idleLimit: number | undefined;
  readonly write: (text: string) => void | Promise<void>;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  /** Resolves after that many milliseconds, or rejects with the signal's reason. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Stops the playing, which then resolves. */
  readonly signal: AbortSignal;
};

/** Writes a recording's output at the times at which it came. Delays of the writing do not add up. */
export async function playCast({ header, events }: CastFile, options: PlayOptions): Promise<void> {
  const { speed, write, now, wait, signal } = options;
  const idleLimit = options.idleLimit ?? header.idle_time_limit ?? Number.POSITIVE_INFINITY;
  const start = now();
  let last = 0;
  let due = 0;
  for await (const { time, code, data } of events) {
    if (signal.aborted) return;
    due += Math.min(Math.max(0, time - last), idleLimit) / speed;
    last = Math.max(last, time);
    if (code !== "o") continue;
    const ms = start + due * 1000 - now();
    if (ms > 0 && !(await waited(wait(ms, signal), signal))) return;
    await write(data);
  }
}

/** False if the wait was given up. */
async function waited(waiting: Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await waiting;
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
