import { expect, test } from "vitest";
import { HealthCheck, type Lease, type LeaseState } from "../../../../src/hq/health/health-check.ts";
import { memoryRegistry, registration } from "../memory-store.ts";

/** Gives what it is told to, in turn, and the last of it from then on. */
class ScriptedLease implements Lease {
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

/** The names that are left after one check, of remotes of which these alone answer. */
async function leftAfter(lease: Lease, answering: readonly string[]): Promise<readonly string[]> {
  const registry = await memoryRegistry();
  for (const name of ["a", "b"]) await registry.register(registration(name));
  using check = new HealthCheck({
    ...{ registry, lease, onAlive: () => {}, onDown: () => {} },
    isAlive: async ({ name }) => answering.includes(name),
  });
  await check.check();
  return registry.remotes.map(({ name }) => name);
}

test("the HQ that has the lease removes what does not answer", async () => {
  expect(await leftAfter(new ScriptedLease(["own"]), ["a"])).toEqual(["a"]);
});

test("another HQ checks and removes nothing, whatever it sees", async () => {
  const lease = new ScriptedLease(["other"]);
  expect(await leftAfter(lease, ["a"])).toEqual(["a", "b"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(0);
});

test("an HQ that nobody answers leaves it to another one to say that they are gone", async () => {
  const lease = new ScriptedLease(["own"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(1);
});

test("an HQ that nobody answers removes all when there is no other one, or another one saw the same", async () => {
  expect(await leftAfter(new ScriptedLease(["own"], false), [])).toEqual([]);
  const passed = new ScriptedLease(["passed", "own"]);
  expect(await leftAfter(passed, [])).toEqual([]);
  expect(passed.passes).toBe(0);
});

test("an HQ that lost the lease while it checked removes nothing", async () => {
  expect(await leftAfter(new ScriptedLease(["own", "other"]), ["a"])).toEqual(["a", "b"]);
});
