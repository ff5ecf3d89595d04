// How long a refusal takes must not tell who there is: measured while no other tests load the machine.
import { beforeAll, expect, test } from "vitest";
import { bestTime } from "../harness/best-time.ts";
import { builtImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { attempts, expectRefused, REFUSAL_MS, USERS } from "./login-attempts.ts";
import { type LoginOutcome, PASSWORD, SystemContainer } from "./system-container.ts";

function medianMs(outcomes: readonly LoginOutcome[]): number {
  return outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b)[outcomes.length >> 1] ?? Number.NaN;
}

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

test("a refusal takes as long for whoever there is, whoever may not log in, and whoever is unknown", async () => {
  await using container = await SystemContainer.start({ prepare: USERS, args: ["--allow-user", "alice"] });
  const tries = Array.from({ length: 4 }, (_, n) => `${n}`);
  const spread = async (): Promise<number> => {
    // One kind after the other, so that none has the others' load to bear.
    const wrong = await container.logIn(attempts(...tries.map((n) => ["alice", n] as const)));
    const unlisted = await container.logIn(attempts(...tries.map(() => ["bob", PASSWORD] as const)));
    const unknown = await container.logIn(attempts(...tries.map((n) => [`eve${n}`, PASSWORD] as const)));
    for (const outcomes of [wrong, unlisted, unknown]) expectRefused(outcomes);
    const medians = [wrong, unlisted, unknown].map(medianMs);
    return Math.max(...medians) - Math.min(...medians);
  };
  expect(await bestTime(100, spread)).toBeLessThan(100);
  const [right] = await container.logIn(attempts(["alice", PASSWORD]));
  expect(right).toMatchObject({ status: 200 });
  expect(right?.ms).toBeLessThan(REFUSAL_MS);
});
