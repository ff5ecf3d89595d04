import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FileRegistryStore } from "../../../../src/hq/registry/file-store.ts";
import type { RegistryContents } from "../../../../src/hq/registry/registry.ts";
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
  const store = new Disk();
  const told: unknown[] = [];
  const ledger = new FileRegistryStore({
    store,
    onSaveFailure: (error) => told.push(error),
    onSavedAgain: () => told.push("saved"),
    now: () => new Date(),
  });
  return { store, ledger, told };
}

describe("what a full disk did not take", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is saved once there is room, with what came meanwhile, and told of once", async () => {
    const { store, ledger, told } = setUp();
    await using _ = ledger;
    store.isFull = true;
    await ledger.put(remote("a"));
    await ledger.put(remote("b"));
    await ledger.drop(remote("a"), "always");
    expect(ledger.isConnected).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([FULL]);
    store.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.remotes.map(({ name }) => name)).toEqual(["b"]);
    expect([ledger.isConnected, told]).toEqual([true, [FULL, "saved"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is tried again at most every half a second, at least every five", async () => {
    const { store, ledger } = setUp();
    await using _ = ledger;
    store.isFull = true;
    await ledger.put(remote("a"));
    await vi.advanceTimersByTimeAsync(499);
    expect(store.saves).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(store.saves).toBeGreaterThan(60 / 5);
    expect(store.saves).toBeLessThan(60 / 5 + 6);
  });

  test("is not tried again by the clock when a change took it along", async () => {
    const { store, ledger, told } = setUp();
    await using _ = ledger;
    store.isFull = true;
    await ledger.put(remote("a"));
    store.isFull = false;
    await ledger.put(remote("b"));
    expect([store.remotes.length, vi.getTimerCount(), told]).toEqual([2, 0, [FULL, "saved"]]);
  });

  test("is tried a last time at the end, and never after it", async () => {
    const { store, ledger } = setUp();
    store.isFull = true;
    await ledger.put(remote("a"));
    await ledger[Symbol.asyncDispose]();
    expect([store.saves, vi.getTimerCount()]).toEqual([2, 0]);
  });
});
