import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCast } from "../../../src/protocol/asciicast.ts";
import { PlaybackClock, type PlayOutcome, playEvents, Timeline } from "../../../src/protocol/playback.ts";

const HEADER = '{"version":2,"width":80,"height":24}\n';

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function eventsOf(text: string, size = 1_000) {
  return await Array.fromAsync((await readCast(inPieces(text, size))).events);
}

describe("the reader", () => {
  test("reads events in pieces of any size", async () => {
    const text = `${HEADER}[0.5, "o", "é日\\r\\n"]\n[1, "r", "100x30"]\n\n[2.25, "m", "", "extra"]`;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), async (size) => {
        expect(await eventsOf(text, size)).toEqual([
          { time: 0.5, code: "o", data: "é日\r\n" },
          { time: 1, code: "r", data: "100x30" },
          { time: 2.25, code: "m", data: "" },
        ]);
      }),
    );
  });

  test("ends at a torn last line", async () => {
    expect(await eventsOf(`${HEADER}[1, "o", "a"]\n[2, "o", "b`)).toHaveLength(1);
  });

  test.each(["", "hello\n", '{"version":1,"width":80,"height":24}\n', '["version"]\n'])(
    "refuses %j",
    async (text) => {
      await expect(readCast(inPieces(text, 10))).rejects.toMatchObject({
        code: "invalid_request",
        message: "this is no asciicast v2 recording",
      });
    },
  );
});

test("without cut pauses each event is due at its recorded time to the digit, however many there are", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 1e12 }), { maxLength: 50 }), (microseconds) => {
      const timeline = new Timeline();
      for (const time of microseconds.sort((a, b) => a - b).map((each) => each / 1e6)) {
        expect(timeline.next({ time, code: "o", data: "" }).due).toBe(time);
      }
    }),
  );
});

describe("the player", () => {
  type Played = { readonly at: number; readonly text: string };
  type Script = {
    readonly speed?: number;
    readonly idleLimit?: number;
    /** How long each write takes. */
    readonly slowMs?: number;
    /** Actions of the user, by milliseconds since the start. */
    readonly keys?: Readonly<Record<number, (clock: PlaybackClock, stop: AbortController) => void>>;
  };

  /** Plays in a time that passes by waiting alone. */
  async function played(
    text: string,
    { speed = 1, idleLimit, slowMs = 0, keys = {} }: Script = {},
  ): Promise<{ readonly output: readonly Played[]; readonly outcome: PlayOutcome }> {
    let time = 0;
    const output: Played[] = [];
    const stop = new AbortController();
    const clock = new PlaybackClock({ now: () => time, speed });
    const presses = Object.entries(keys).map(([at, press]) => ({ at: Number(at), press }));
    const { header, events } = await readCast(inPieces(text, 100));
    const outcome = await playEvents(new Timeline(idleLimit ?? header.idle_time_limit).of(events), {
      clock,
      write: (written) => {
        output.push({ at: Math.round(time), text: written });
        time += slowMs;
      },
      wait: async (ms, signal) => {
        const next = presses[0];
        if (next === undefined || next.at > time + ms) time += ms;
        else {
          time = next.at;
          presses.shift();
          next.press(clock, stop);
          expect(signal.aborted).toBe(true);
        }
      },
      signal: stop.signal,
    });
    return { output, outcome };
  }

  const EVENTS = '[1, "o", "a"]\n[1.5, "i", "x"]\n[11, "o", "b"]\n[11.5, "o", "c"]\n';
  const CAST = HEADER + EVENTS;

  test("keeps the times and writes output alone", async () => {
    expect(await played(CAST)).toEqual({
      outcome: "ended",
      output: [
        { at: 1_000, text: "a" },
        { at: 11_000, text: "b" },
        { at: 11_500, text: "c" },
      ],
    });
  });

  test("keeps the speed, and cuts pauses", async () => {
    const { output } = await played(CAST, { speed: 2, idleLimit: 3 });
    expect(output.map(({ at }) => at)).toEqual([500, 2_250, 2_500]);
  });

  test("cuts pauses where the recording says so", async () => {
    const header = '{"version":2,"width":80,"height":24,"idle_time_limit":2}\n';
    const { output } = await played(header + EVENTS);
    expect(output.map(({ at }) => at)).toEqual([1_000, 3_500, 4_000]);
  });

  test("does not let the delays of writing add up", async () => {
    const { output } = await played(CAST, { slowMs: 400 });
    expect(output.map(({ at }) => at)).toEqual([1_000, 11_000, 11_500]);
  });

  test("stops when it is told to", async () => {
    const { output, outcome } = await played(CAST, { keys: { 5000: (_, stop) => stop.abort() } });
    expect({ output, outcome }).toEqual({ outcome: "stopped", output: [{ at: 1_000, text: "a" }] });
  });

  test("continues after a pause where it was", async () => {
    const { output } = await played(CAST, {
      keys: {
        5000: (clock) => clock.set({ isPaused: true }),
        65000: (clock) => clock.set({ isPaused: false }),
      },
    });
    expect(output.map(({ at }) => at)).toEqual([1_000, 71_000, 71_500]);
  });

  test("continues faster from where it was", async () => {
    const { output } = await played(CAST, { keys: { 6000: (clock) => clock.set({ speed: 5 }) } });
    expect(output.map(({ at }) => at)).toEqual([1_000, 7_000, 7_100]);
  });

  test("writes the output before the target of a seek at once", async () => {
    const { output } = await played(CAST, { keys: { 500: (clock) => clock.set({ position: 11.2 }) } });
    expect(output).toEqual([
      { at: 500, text: "a" },
      { at: 500, text: "b" },
      { at: 800, text: "c" },
    ]);
  });

  test("must restart after a seek to before the written output", async () => {
    const { output, outcome } = await played(CAST, {
      keys: { 11200: (clock) => clock.set({ position: 0.2 }) },
    });
    expect(output.map(({ text }) => text)).toEqual(["a", "b"]);
    expect(outcome).toBe("rewound");
  });

  test("need not restart after a seek back if no output after the target is written", async () => {
    const { output, outcome } = await played(CAST, {
      keys: { 9000: (clock) => clock.set({ position: 2 }) },
    });
    expect(output.map(({ at }) => at)).toEqual([1_000, 18_000, 18_500]);
    expect(outcome).toBe("ended");
  });
});
