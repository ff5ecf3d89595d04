import { expect, test } from "vitest";
import { Silences } from "../../../../src/hq/health/silences.ts";
import { MAX_SILENT_REMOTES, SILENT_REMOTE_MEMORY_MS } from "../../../../src/protocol/limits.ts";

function setUp() {
  const clock = { ms: Date.parse("2026-01-01T00:00:00.000Z") };
  const silences = new Silences(() => new Date(clock.ms));
  const names = (): readonly string[] => silences.recent.map(({ name }) => name);
  return { clock, silences, names };
}

test("a silence is remembered for a while, from the last time on", () => {
  const { clock, silences, names } = setUp();
  silences.begin("a");
  silences.begin("b");
  expect(silences.recent[0]).toEqual({ name: "a", since: "2026-01-01T00:00:00.000Z" });
  clock.ms += SILENT_REMOTE_MEMORY_MS - 1;
  silences.begin("a");
  expect(names()).toEqual(["b", "a"]);
  clock.ms += 1;
  expect(names()).toEqual(["a"]);
  clock.ms += SILENT_REMOTE_MEMORY_MS;
  expect(names()).toEqual([]);
});

test("whoever is back is not silent", () => {
  const { silences, names } = setUp();
  silences.begin("a");
  silences.begin("b");
  silences.end("a");
  silences.end("nobody");
  expect(names()).toEqual(["b"]);
});

test("what was kept is taken over as far as it is recent, also when the clock was set back a little", () => {
  const { clock, silences, names } = setUp();
  const since = (ms: number): string => new Date(clock.ms + ms).toISOString();
  silences.restore([
    { name: "old", since: since(-SILENT_REMOTE_MEMORY_MS) },
    { name: "recent", since: since(1 - SILENT_REMOTE_MEMORY_MS) },
    { name: "ahead", since: since(1_000) },
    { name: "far ahead", since: since(SILENT_REMOTE_MEMORY_MS) },
    { name: "no time", since: "yesterday" },
  ]);
  expect(names()).toEqual(["recent", "ahead"]);
});

test("of too many the one that was silent first is forgotten", () => {
  const { silences, names } = setUp();
  for (let number = 0; number <= MAX_SILENT_REMOTES; number += 1) silences.begin(`machine-${number}`);
  expect(names()).toHaveLength(MAX_SILENT_REMOTES);
  expect([names()[0], names().at(-1)]).toEqual(["machine-1", `machine-${MAX_SILENT_REMOTES}`]);
});
