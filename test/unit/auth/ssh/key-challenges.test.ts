import { expect, test } from "vitest";
import { KeyLogin } from "../../../../src/auth/ssh/key-login.ts";
import { memoryTickets } from "../../../../src/auth/tokens/file-records.ts";
import { MAX_SSH_CHALLENGES } from "../../../../src/protocol/limits.ts";
import { Challenge } from "../../../../src/protocol/schemas/auth.ts";

function clocked() {
  const clock = { ms: 0 };
  const challenges = new KeyLogin({
    ...{ now: () => clock.ms, wallClock: () => 1_000_000 + clock.ms, pause: async () => {} },
    tickets: memoryTickets(() => clock.ms),
    isKeyOf: async () => false,
    users: { mayLogIn: () => false },
  });
  return { clock, challenges };
}

test("a challenge has 32 bytes in base64 for one user, and its expiry", async () => {
  const { challenges } = clocked();
  const issued = await challenges.challenge("ada");
  expect(Challenge.parse(issued)).toEqual(issued);
  expect(issued.challengeId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(issued.expiresAt).toBe(1_300_000);
  const taken = await challenges.take(issued.challengeId);
  expect(taken?.user).toBe("ada");
  expect(taken?.challenge).toBe(issued.challenge);
  expect(Buffer.from(issued.challenge, "base64")).toHaveLength(32);
});

test("no two challenges are alike", async () => {
  const { challenges } = clocked();
  const issued = await Promise.all(Array.from({ length: 100 }, () => challenges.challenge("ada")));
  expect(new Set(issued.map(({ challenge }) => challenge)).size).toBe(100);
  expect(new Set(issued.map(({ challengeId }) => challengeId)).size).toBe(100);
});

test("a challenge is taken once", async () => {
  const { challenges } = clocked();
  const { challengeId } = await challenges.challenge("ada");
  expect(await challenges.take(challengeId)).toBeDefined();
  expect(await challenges.take(challengeId)).toBeUndefined();
  expect(await challenges.take("guessed")).toBeUndefined();
});

test("a challenge is valid for exactly five minutes", async () => {
  const { clock, challenges } = clocked();
  const [used, late] = [await challenges.challenge("ada"), await challenges.challenge("ada")];
  clock.ms = 299_999;
  expect(await challenges.take(used.challengeId)).toBeDefined();
  clock.ms = 300_000;
  expect(await challenges.take(late.challengeId)).toBeUndefined();
});

test("over the limit the oldest challenge is dropped", async () => {
  const { challenges } = clocked();
  const [oldest, next] = [await challenges.challenge("ada"), await challenges.challenge("ada")];
  for (let count = 1; count < MAX_SSH_CHALLENGES; count++) await challenges.challenge("bob");
  expect(await challenges.take(oldest.challengeId)).toBeUndefined();
  expect(await challenges.take(next.challengeId)).toBeDefined();
});
