import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CastFile, playCast, readCast } from "../../../src/cli/terminal/cast.ts";

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

describe("the player", () => {
  type Played = { readonly at: number; readonly text: string };

  /** Plays in a time that passes by waiting alone. */
  async function played(
    cast: CastFile,
    {
      speed = 1,
      idleLimit = undefined as number | undefined,
      stopAt = Number.POSITIVE_INFINITY,
      slow = 0,
    } = {},
  ): Promise<readonly Played[]> {
    let time = 1_000;
    const output: Played[] = [];
    const stop = new AbortController();
    await playCast(cast, {
      speed,
      idleLimit,
      write: (text) => {
        output.push({ at: time - 1_000, text });
        time += slow;
      },
      now: () => time,
      wait: async (ms, signal) => {
        time += ms;
        if (time - 1_000 >= stopAt) stop.abort();
        signal.throwIfAborted();
      },
      signal: stop.signal,
    });
    return output;
  }

  const cast = (header = HEADER): Promise<CastFile> =>
    readCast(inPieces(`${header}[1, "o", "a"]\n[1.5, "i", "x"]\n[11, "o", "b"]\n[11.5, "o", "c"]\n`, 100));

  test("keeps the times and writes output alone", async () => {
    expect(await played(await cast())).toEqual([
      { at: 1_000, text: "a" },
      { at: 11_000, text: "b" },
      { at: 11_500, text: "c" },
    ]);
  });

  test("is as fast as it is told, and cuts pauses", async () => {
    const output = await played(await cast(), { speed: 2, idleLimit: 3 });
    expect(output.map(({ at }) => at)).toEqual([500, 2_250, 2_500]);
  });

  test("cuts pauses where the recording says so", async () => {
    const output = await played(await cast('{"version":2,"width":80,"height":24,"idle_time_limit":2}\n'));
    expect(output.map(({ at }) => at)).toEqual([1_000, 3_500, 4_000]);
  });

  test("does not let the delays of writing add up", async () => {
    expect((await played(await cast(), { slow: 400 })).map(({ at }) => at)).toEqual([1_000, 11_000, 11_500]);
  });

  test("stops when it is told to", async () => {
    expect(await played(await cast(), { stopAt: 5_000 })).toEqual([{ at: 1_000, text: "a" }]);
  });
});
