import { expect, test } from "vitest";
import { type Lease, type LeaseState, Probe } from "../../../src/hq/health/probe.ts";
import type { Registry } from "../../../src/hq/registry/registry.ts";
import { memoryRegistry, registration } from "./memory-store.ts";

/** Gives what it is told to, in turn, and the last of it from then on. */
class TurnLease implements Lease {
  passes = 0;
  readonly #states: LeaseState[];
  readonly #hasOthers: boolean;

  constructor(states: readonly LeaseState[], hasOthers = true) {
    this.#states = [...states];
    this.#hasOthers = hasOthers;
  }

  async take(): Promise<LeaseState> {
    return (this.#states.length > 1 ? this.#states.shift() : this.#states[0]) ?? "other";
  }

  async pass(): Promise<boolean> {
    this.passes += 1;
    return this.#hasOthers;
  }
}

/** The names that are left after one look, of remotes of which these alone answer. */
async function leftAfter(lease: Lease, answering: readonly string[]): Promise<readonly string[]> {
  const registry: Registry = await memoryRegistry();
  for (const name of ["a", "b"]) await registry.register(registration(name));
  using probe = new Probe({
    ...{ registry, lease, onAlive: () => {}, onSilent: () => {} },
    ask: async ({ url }) => {
      if (answering.some((name) => url === registration(name).url)) return {};
      throw new Error("no answer");
    },
  });
  await probe.look();
  return registry.remotes.map(({ name }) => name);
}

test("the HQ that has the lease removes what does not answer", async () => {
  expect(await leftAfter(new TurnLease(["own"]), ["a"])).toEqual(["a"]);
});

test("another HQ looks and removes nothing, whatever it sees", async () => {
  const lease = new TurnLease(["other"]);
  expect(await leftAfter(lease, ["a"])).toEqual(["a", "b"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(0);
});

test("an HQ that nobody answers leaves it to another one to say that they are gone", async () => {
  const lease = new TurnLease(["own"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(1);
});

test("an HQ that nobody answers removes all when there is no other one, or another one saw the same", async () => {
  expect(await leftAfter(new TurnLease(["own"], false), [])).toEqual([]);
  const passed = new TurnLease(["passed", "own"]);
  expect(await leftAfter(passed, [])).toEqual([]);
  expect(passed.passes).toBe(0);
});

test("an HQ that lost the lease while it looked removes nothing", async () => {
  expect(await leftAfter(new TurnLease(["own", "other"]), ["a"])).toEqual(["a", "b"]);
});
