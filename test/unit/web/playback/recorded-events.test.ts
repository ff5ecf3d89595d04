import { expect, test } from "vitest";
import type { TimedEvent } from "../../../../src/protocol/playback.ts";
import { RecordedEvents } from "../../../../src/web/playback/recorded-events.ts";

test("output comes back whole and in order, from any event on, with what is added while it is read", async () => {
  const recorded = new RecordedEvents();
  const timed: TimedEvent[] = [];
  const added: string[] = [];
  const add = (code: string, data: string): void => {
    recorded.add({ time: added.length, code, data });
    timed.push({ ...recorded.list[added.length], time: added.length, code, due: added.length, data: "" });
    added.push(code === "o" ? data : "");
  };
  // Several blobs, and the rest.
  for (let number = 0; number < 40; number += 1) add("o", `${number} é\u001b\n`.padEnd(100_000, "x"));
  add("m", "marker");
  add("o", "last");
  const read = async (from: number): Promise<readonly string[]> => {
    const data: string[] = [];
    for await (const event of recorded.withData(
      () => timed,
      from,
      () => undefined,
    )) {
      if (event.data === "last") add("o", "later");
      data.push(event.data);
    }
    return data;
  };
  expect(await read(0)).toEqual(added);
  expect(await read(25)).toEqual(added.slice(25));
  expect(recorded.list.map(({ code, data }) => (code === "o" ? "" : data)).join("")).toBe("marker");
});
