import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FileRegistryStore, type RegistryContents } from "../../../../src/hq/registry/file-store.ts";
import { MemoryStore, registration } from "../memory-store.ts";

const FULL = new Error("disk full");
const heard = { registeredAt: "2026-01-01T00:00:00.000Z", lastHeartbeat: "2026-01-01T00:00:00.000Z" };
const remote = (name: string) => ({ ...registration(name), ...heard });

class Disk extends MemoryStore {
  isFull = false;

  override async save(contents: RegistryContents): Promise<void> {
    await super.save(this.isFull ? this.contents : contents);
    if (this.isFull) throw FULL;
  }
}

function setUp() {
  const disk = new Disk();
  const told: unknown[] = [];
  const store = new FileRegistryStore({
    file: disk,
    onSaveFailure: (error) => told.push(error),
    onSavedAgain: () => told.push("saved"),
    now: () => new Date(),
  });
  return { disk, store, told };
}

describe("what a full disk did not take", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is saved once there is room, with what came meanwhile, and told of once", async () => {
    const { disk, store, told } = setUp();
    await using _ = store;
    disk.isFull = true;
    await store.put(remote("a"));
    await store.put(remote("b"));
    await store.remove("id-of-a");
    expect(store.isConnected).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([FULL]);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(disk.remotes.map(({ name }) => name)).toEqual(["b"]);
    expect([store.isConnected, told]).toEqual([true, [FULL, "saved"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is tried again at most every half a second, at least every five", async () => {
    const { disk, store } = setUp();
    await using _ = store;
    disk.isFull = true;
    await store.put(remote("a"));
    await vi.advanceTimersByTimeAsync(499);
    expect(disk.saves).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(disk.saves).toBeGreaterThan(60 / 5);
    expect(disk.saves).toBeLessThan(60 / 5 + 6);
  });

  test("is not tried again by the clock when a change took it along", async () => {
    const { disk, store, told } = setUp();
    await using _ = store;
    disk.isFull = true;
    await store.put(remote("a"));
    disk.isFull = false;
    await store.put(remote("b"));
    expect([disk.remotes.length, vi.getTimerCount(), told]).toEqual([2, 0, [FULL, "saved"]]);
  });

  test("is tried a last time at the end, and never after it", async () => {
    const { disk, store } = setUp();
    disk.isFull = true;
    await store.put(remote("a"));
    await store[Symbol.asyncDispose]();
    expect([disk.saves, vi.getTimerCount()]).toEqual([2, 0]);
  });
});
