import { afterEach, expect, test, vi } from "vitest";
import { PacedLook } from "../../../../src/git/facts/paced-look.ts";
import { FACT_RETRY_MAX_MS, FACT_STALE_MS } from "../../../../src/git/git-limits.ts";
import { Semaphore } from "../../../../src/lib/async/semaphore.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

afterEach(() => void vi.useRealTimers());

const now = (): number => performance.now();

function slotsOf(slots: number, maxWaiting = 10): Semaphore {
  const full = (): ServiceError => new ServiceError("git_busy", "full");
  return new Semaphore({ slots, maxWaiting, maxWaitMs: 60_000, full });
}

/** Looks that last until the test says so. */
class Looks {
  begun = 0;
  #begins = Promise.withResolvers<void>();
  #ends = Promise.withResolvers<void>();

  readonly look = async (): Promise<void> => {
    this.begun++;
    this.#begins.resolve();
    await this.#ends.promise;
    this.#ends = Promise.withResolvers();
  };

  async begin(): Promise<void> {
    await this.#begins.promise;
    this.#begins = Promise.withResolvers();
  }

  end(): void {
    this.#ends.resolve();
  }
}

test("many hints are one look, and those that come during it are one more", async () => {
  const looks = new Looks();
  using paced = new PacedLook({ look: looks.look, slots: slotsOf(1), now });
  for (let times = 0; times < 100; times++) paced.hint(0);
  await looks.begin();
  for (let times = 0; times < 100; times++) paced.hint(0);
  expect(looks.begun).toBe(1);
  looks.end();
  await looks.begin();
  looks.end();
  // A third one is none of those hundred.
  paced.hint(0);
  await looks.begin();
  expect(looks.begun).toBe(3);
  looks.end();
});

test("an urgent hint does not wait for one that has time", async () => {
  const looks = new Looks();
  using paced = new PacedLook({ look: looks.look, slots: slotsOf(1), now });
  paced.hint(3_600_000);
  paced.hint(0);
  await looks.begin();
  looks.end();
});

test("looks of different things take turns", async () => {
  const slots = slotsOf(1);
  const [first, second] = [new Looks(), new Looks()];
  using one = new PacedLook({ look: first.look, slots, now });
  using other = new PacedLook({ look: second.look, slots, now });
  one.hint(0);
  await first.begin();
  other.hint(0);
  first.end();
  await second.begin();
  second.end();
});

test("a look that gets no turn is taken later, without another hint", async () => {
  vi.useFakeTimers();
  const slots = slotsOf(1, 0);
  const busy = Promise.withResolvers<void>();
  const taken = slots.take(() => busy.promise);
  const looks = new Looks();
  using paced = new PacedLook({ look: looks.look, slots, now });
  paced.hint(0);
  await vi.advanceTimersByTimeAsync(FACT_STALE_MS - 1);
  busy.resolve();
  await taken;
  expect(looks.begun).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(looks.begun).toBe(1);
  looks.end();
});

test("a look that fails is taken again, ever later, and with the next hint at once", async () => {
  vi.useFakeTimers();
  let [looks, isFailing] = [0, true];
  const look = async (): Promise<void> => {
    looks++;
    if (isFailing) throw new ServiceError("git_busy", "not now");
  };
  using paced = new PacedLook({ look, slots: slotsOf(1), now });
  paced.hint(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(looks).toBe(1);
  await vi.advanceTimersByTimeAsync(FACT_STALE_MS);
  expect(looks).toBe(2);
  await vi.advanceTimersByTimeAsync(2 * FACT_STALE_MS);
  expect(looks).toBe(3);
  await vi.advanceTimersByTimeAsync(24 * FACT_RETRY_MAX_MS);
  expect(looks).toBeLessThan(40);
  const before = looks;
  paced.hint(0);
  isFailing = false;
  await vi.advanceTimersByTimeAsync(24 * FACT_RETRY_MAX_MS);
  expect(looks).toBe(before + 1);
  isFailing = true;
  paced.hint(0);
  await vi.advanceTimersByTimeAsync(FACT_STALE_MS);
  expect(looks).toBe(before + 3);
});

test("after its end there is no look", async () => {
  const looks = new Looks();
  const paced = new PacedLook({ look: looks.look, slots: slotsOf(1), now });
  paced.hint(0);
  paced[Symbol.dispose]();
  paced.hint(0);
  const later = new Looks();
  using clock = new PacedLook({ look: later.look, slots: slotsOf(1), now });
  clock.hint(20);
  await later.begin();
  later.end();
  expect(looks.begun).toBe(0);
});

test("looks that others hint at put the next one off no longer", async () => {
  vi.useFakeTimers();
  let looks = 0;
  const look = async (): Promise<void> => {
    looks++;
    throw new ServiceError("git_busy", "not now");
  };
  using paced = new PacedLook({ look, slots: slotsOf(1), now });
  for (let hints = 0; hints < 20; hints++) {
    paced.hint(0);
    await vi.advanceTimersByTimeAsync(10);
  }
  const before = looks;
  await vi.advanceTimersByTimeAsync(FACT_STALE_MS);
  expect(looks).toBe(before + 1);
});
