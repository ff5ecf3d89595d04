import { expect, test } from "vitest";
import { historySizes, readHistory } from "../../../../src/hub/viewer/history.ts";
import { decodeJson, encodeJson } from "../../../../src/protocol/frame/payload.ts";
import type { View } from "../../../../src/sessions/backend.ts";
import { MemorySessions } from "../memory-sessions.ts";

const { signal } = new AbortController();

/** A backend with these events in its journal, and no output. */
function withEvents(payload: Uint8Array): MemorySessions {
  const sessions = new MemorySessions();
  sessions.add("s");
  const view = sessions.view.bind(sessions);
  sessions.view = async (id: string, asked: View) => {
    const content = await view(id, asked);
    return asked.kind === "events" ? { ...content, body: pieces(payload) } : content;
  };
  return sessions;
}

async function* pieces(...all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

async function bestMs(work: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const began = performance.now();
    await work();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

test("wrong events of a journal take little longer than their JSON", async () => {
  const payload = encodeJson(new Array(1_000_000).fill(0));
  const sessions = withEvents(payload);
  const sizes = () => historySizes(sessions, "s", 0, signal);
  expect(await sizes()).toEqual([]);
  expect(await bestMs(sizes)).toBeLessThan(5 * (await bestMs(() => decodeJson(payload, payload.length))));
});

test("hundreds of thousands of sizes are read in little more time than their JSON", async () => {
  const data = "80x24";
  const payload = encodeJson(Array.from({ length: 300_000 }, () => ({ offset: 0, kind: "r", data })));
  const sessions = withEvents(payload);
  sessions.sessions.get("s")?.print("x");
  const feed = { sessionId: "s", start: 1, sizesAtStart: 0 };
  const read = async (): Promise<number> => {
    let pieces = 0;
    for await (const _ of readHistory(sessions, feed, { from: 0, hasSizes: true }, signal)) pieces += 1;
    return pieces;
  };
  expect(await read()).toBe(300_001);
  expect(await bestMs(read)).toBeLessThan(20 * (await bestMs(() => decodeJson(payload, payload.length))));
});
