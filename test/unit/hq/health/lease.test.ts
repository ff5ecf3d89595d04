import { expect, test } from "vitest";
import { HealthCheck, type Lease, type LeaseState } from "../../../../src/hq/health/health-check.ts";
import { memoryRegistry, registration } from "../memory-store.ts";

/** Returns the given states in turn, and then the last one. */
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

/** The names of the remotes after one check that only these answer. */
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

test("the HQ with the lease removes remotes that do not answer", async () => {
  expect(await leftAfter(new ScriptedLease(["own"]), ["a"])).toEqual(["a"]);
});

test("an HQ without the lease removes no remotes", async () => {
  const lease = new ScriptedLease(["other"]);
  expect(await leftAfter(lease, ["a"])).toEqual(["a", "b"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(0);
});

test("an HQ that no remote answers passes the lease to another HQ", async () => {
  const lease = new ScriptedLease(["own"]);
  expect(await leftAfter(lease, [])).toEqual(["a", "b"]);
  expect(lease.passes).toBe(1);
});

test("an HQ that no remote answers removes all if there is no other HQ or another one saw the same", async () => {
  expect(await leftAfter(new ScriptedLease(["own"], false), [])).toEqual([]);
  const passed = new ScriptedLease(["passed", "own"]);
  expect(await leftAfter(passed, [])).toEqual([]);
  expect(passed.passes).toBe(0);
});

test("an HQ that lost the lease while it checked removes nothing", async () => {
  expect(await leftAfter(new ScriptedLease(["own", "other"]), ["a"])).toEqual(["a", "b"]);
});
