import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { Reachability } from "../../../../src/web/terminal/reachability.ts";

const UNREACHABLE = new ServiceError("remote_unreachable", "remote web is out of reach");

function stage() {
  const isMachineGone = signal(false);
  const told: string[] = [];
  const clock = { ms: 0 };
  const contact = new Reachability({
    isMachineGone,
    now: () => clock.ms,
    look: () => Promise.reject(UNREACHABLE),
    onLost: () => told.push("lost"),
    onBack: () => told.push("back"),
  });
  return { contact, isMachineGone, told, clock, [Symbol.dispose]: () => contact[Symbol.dispose]() };
}

test("a refusal because of the machine is a loss, and whatever comes from it ends that", () => {
  using it = stage();
  expect(it.contact.failed(new ServiceError("session_not_found", "no"))).toBe(false);
  expect(it.contact.isAway.value).toBe(false);
  expect(it.contact.failed(UNREACHABLE)).toBe(true);
  expect(it.contact.failed(UNREACHABLE)).toBe(true);
  expect(it.contact.isAway.value).toBe(true);
  it.contact.reached();
  expect(it.contact.isAway.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("output that comes soon after a refusal may have been on its way for long, and is no sign of the machine", () => {
  using it = stage();
  it.contact.failed(UNREACHABLE);
  it.clock.ms = 1_999;
  it.contact.heard();
  expect(it.contact.isAway.value).toBe(true);
  it.contact.failed(UNREACHABLE);
  it.clock.ms = 3_998;
  it.contact.heard();
  expect(it.contact.isAway.value).toBe(true);
  it.clock.ms = 3_999;
  it.contact.heard();
  expect(it.contact.isAway.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("a machine that left is away until it is back, whatever still comes from it", () => {
  using it = stage();
  it.contact.failed(UNREACHABLE);
  it.isMachineGone.value = true;
  it.contact.reached();
  expect(it.contact.isAway.value).toBe(true);
  it.isMachineGone.value = false;
  expect(it.contact.isAway.value).toBe(false);
  expect(it.told).toEqual(["lost", "back"]);
});

test("after a refusal the HQ is asked until it reaches the machine", async () => {
  let refusals = 2;
  const back = Promise.withResolvers<void>();
  using contact = new Reachability({
    isMachineGone: signal(false),
    now: () => 0,
    look: async () => {
      if (refusals === 0) return;
      refusals -= 1;
      throw UNREACHABLE;
    },
    lookMs: 1,
    onLost: () => undefined,
    onBack: back.resolve,
  });
  contact.failed(UNREACHABLE);
  await back.promise;
  expect(refusals).toBe(0);
});

test("what was refused is counted until there is contact", () => {
  using it = stage();
  it.contact.failed(UNREACHABLE);
  it.contact.refuse();
  it.contact.refuse();
  it.contact.settle();
  expect(it.contact.refusals.value).toBe(2);
  it.contact.reached();
  it.contact.settle();
  expect(it.contact.refusals.value).toBe(0);
});
