import { expect, test } from "vitest";
import type { RemoteRecord } from "../../../../src/protocol/schemas/remote.ts";
import { chosenLines, machineLines } from "../../../../src/web/machines/machine-lines.ts";

const TIME = "2026-01-01T00:00:00.000Z";

function remote(name: string, more: Partial<RemoteRecord> = {}): RemoteRecord {
  const times = { registeredAt: TIME, lastHeartbeat: TIME };
  return { ...{ id: name, name, url: "http://x", sessionIds: [], status: "up" }, ...times, ...more };
}

const key = (name: string) => ({
  ...{ name, remoteId: name, publicKey: "k".repeat(43), enrolledAt: TIME, joinToken: "t" },
});
const HEALTH = { version: "2.0.0", hqSessions: true, cordoned: false };

test("each machine has one state: what was removed is down, and what has only a key has left", () => {
  const remotes = [
    remote("up"),
    remote("full", { cordoned: true }),
    remote("silent", { status: "suspect", cordoned: true }),
    remote("dead", { status: "down", url: "" }),
  ];
  const lines = machineLines({ health: HEALTH, remotes, keys: [key("up"), key("gone")], sessions: [] });
  expect(lines.map(({ name, state, hasKey }) => [name, state, hasKey])).toEqual([
    ["local", "up", false],
    ["up", "up", true],
    ["full", "cordoned", false],
    ["silent", "suspect", false],
    ["dead", "down", false],
    ["gone", "left", true],
  ]);
});

test("another version than the HQ's is marked, an unknown one is not", () => {
  const remotes = [
    remote("old", { version: "1.9.0" }),
    remote("same", { version: "2.0.0" }),
    remote("unknown"),
  ];
  const lines = machineLines({ health: { version: "2.0.0" }, remotes, keys: [], sessions: [] });
  expect(lines.map(({ isOtherVersion }) => isOtherVersion)).toEqual([true, false, false]);
});

test("machines are found by name, state and label, and ordered by what is greatest", () => {
  const remotes = [
    remote("a", { load: 0.5 }),
    remote("b", { load: 2, labels: { gpu: "true" } }),
    remote("c", { labels: { gpu: "true" }, cordoned: true }),
  ];
  const lines = machineLines({ health: { version: "1" }, remotes, keys: [], sessions: [] });
  const names = (filter: string, order: "name" | "load") =>
    chosenLines(lines, { filter, order }).map(({ name }) => name);
  expect(names("", "name")).toEqual(["a", "b", "c"]);
  expect(names("", "load")).toEqual(["b", "a", "c"]);
  expect(names("GPU=true cordoned", "name")).toEqual(["c"]);
});
