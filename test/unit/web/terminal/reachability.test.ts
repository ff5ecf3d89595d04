import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { Reachability } from "../../../../src/web/terminal/reachability.ts";

const UNREACHABLE = new ServiceError("remote_unreachable", "remote web is out of reach");

function stage() {
  const isMachineGone = signal(false);
  const told: string[] = [];
  const clock = { ms: 0 };
  const reachability = new Reachability({
    isMachineGone,
    now: () => clock.ms,
    check: () => Promise.reject(UNREACHABLE),
    onLost: () => told.push("lost"),
    onBack: () => told.push("back"),
  });
  return { reachability, isMachineGone, told, clock, [Symbol.dispose]: () => reachability[Symbol.dispose]() };
}

test("a refusal because of the machine marks it unreachable, and any message from it ends that", () => {
  using it = stage();
  expect(it.reachability.failed(new ServiceError("session_not_found", "no"))).toBe(false);
  expect(it.reachability.isUnreachable.value).toBe(false);
  expect(it.reachability.failed(UNREACHABLE)).toBe(true);
  expect(it.reachability.failed(UNREACHABLE)).toBe(true);
  expect(it.reachability.isUnreachable.value).toBe(true);
  it.reachability.reached();
  expect(it.reachability.isUnreachable.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("output that comes soon after a refusal may have been on its way for long, and is no sign of the machine", () => {
  using it = stage();
  it.reachability.failed(UNREACHABLE);
  it.clock.ms = 1_999;
  it.reachability.heard();
  expect(it.reachability.isUnreachable.value).toBe(true);
  it.reachability.failed(UNREACHABLE);
  it.clock.ms = 3_998;
  it.reachability.heard();
  expect(it.reachability.isUnreachable.value).toBe(true);
  it.clock.ms = 3_999;
  it.reachability.heard();
  expect(it.reachability.isUnreachable.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("a machine that left stays away until it registers again, regardless of late messages", () => {
  using it = stage();
  it.reachability.failed(UNREACHABLE);
  it.isMachineGone.value = true;
  it.reachability.reached();
  expect(it.reachability.isUnreachable.value).toBe(true);
  it.isMachineGone.value = false;
  expect(it.reachability.isUnreachable.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("after a refusal the HQ is asked until it reaches the machine", async () => {
  let refusals = 2;
  const back = Promise.withResolvers<void>();
  using reachability = new Reachability({
    isMachineGone: signal(false),
    now: () => 0,
    check: async () => {
      if (refusals === 0) return;
      refusals -= 1;
      throw UNREACHABLE;
    },
    checkMs: 1,
    onLost: () => undefined,
    onBack: back.resolve,
  });
  reachability.failed(UNREACHABLE);
  await back.promise;
  expect(refusals).toBe(0);
});

test("refused input is counted until the next contact", () => {
  using it = stage();
  it.reachability.failed(UNREACHABLE);
  it.reachability.refuse();
  it.reachability.refuse();
  it.reachability.settle();
  expect(it.reachability.refusals.value).toBe(2);
  it.reachability.reached();
  it.reachability.settle();
  expect(it.reachability.refusals.value).toBe(0);
});
