// The duration of a refusal must not reveal which users exist. Measured while no other tests load the machine.
import { beforeAll, expect, test } from "vitest";
import { bestTime, MAX_PERFORMANCES } from "../harness/best-time.ts";
import { builtImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { attempts, expectRefused, REFUSAL_MS } from "./login-attempts.ts";
import { type LoginOutcome, makeUsers, PASSWORD, SystemContainer } from "./system-container.ts";

function medianMs(outcomes: readonly LoginOutcome[]): number {
  return outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b)[outcomes.length >> 1] ?? Number.NaN;
}

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

test("a refusal takes equally long for known, forbidden and unknown users", async () => {
  const rounds = Array.from({ length: MAX_PERFORMANCES }, (_, round) => round);
  const allowed = rounds.map((round) => `alice${round}`);
  await using container = await SystemContainer.start({
    prepare: makeUsers(...allowed, ...rounds.map((round) => `bob${round}`)),
    args: allowed.flatMap((name) => ["--allow-user", name]),
  });
  const tries = Array.from({ length: 4 }, (_, n) => `${n}`);
  let round = 0;
  const spread = async (): Promise<number> => {
    // Different users each time, because repeated failures of one user would be refused at once.
    const [alice, bob, eve] = [`alice${round}`, `bob${round}`, `eve${round}`];
    round += 1;
    // One kind after the other, so that they do not load each other.
    const wrong = await container.logIn(attempts(...tries.map((n) => [alice, n] as const)));
    const unlisted = await container.logIn(attempts(...tries.map(() => [bob, PASSWORD] as const)));
    const unknown = await container.logIn(attempts(...tries.map((n) => [`${eve}-${n}`, PASSWORD] as const)));
    for (const outcomes of [wrong, unlisted, unknown]) expectRefused(outcomes);
    const medians = [wrong, unlisted, unknown].map(medianMs);
    return Math.max(...medians) - Math.min(...medians);
  };
  expect(await bestTime(100, spread)).toBeLessThan(100);
  const logIn = async (): Promise<number> => {
    const [right] = await container.logIn(attempts(["alice0", PASSWORD]));
    expect(right).toMatchObject({ status: 200 });
    return right?.ms ?? Number.NaN;
  };
  expect(await bestTime(REFUSAL_MS, logIn)).toBeLessThan(REFUSAL_MS);
});
