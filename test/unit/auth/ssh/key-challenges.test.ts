import { expect, test } from "vitest";
import { KeyLogin } from "../../../../src/auth/ssh/key-login.ts";
import { MAX_SSH_CHALLENGES } from "../../../../src/protocol/limits.ts";
import { Challenge } from "../../../../src/protocol/schemas/auth.ts";

function clocked() {
  const clock = { ms: 0 };
  const challenges = new KeyLogin({
    ...{ now: () => clock.ms, wallClock: () => 1_000_000 + clock.ms, pause: async () => {} },
    isKeyOf: async () => false,
    users: { mayLogIn: () => false },
  });
  return { clock, challenges };
}

test("a challenge is 32 bytes for one user, in base64, and tells when it ends", () => {
  const { challenges } = clocked();
  const issued = challenges.challenge("ada");
  expect(Challenge.parse(issued)).toEqual(issued);
  expect(issued.challengeId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(issued.expiresAt).toBe(1_300_000);
  const taken = challenges.take(issued.challengeId);
  expect(taken?.user).toBe("ada");
  expect(taken?.bytes).toHaveLength(32);
  expect(Buffer.from(taken?.bytes ?? []).toString("base64")).toBe(issued.challenge);
});

test("no two challenges are alike", () => {
  const { challenges } = clocked();
  const issued = Array.from({ length: 100 }, () => challenges.challenge("ada"));
  expect(new Set(issued.map(({ challenge }) => challenge)).size).toBe(100);
  expect(new Set(issued.map(({ challengeId }) => challengeId)).size).toBe(100);
});

test("a challenge is taken once", () => {
  const { challenges } = clocked();
  const { challengeId } = challenges.challenge("ada");
  expect(challenges.take(challengeId)).toBeDefined();
  expect(challenges.take(challengeId)).toBeUndefined();
  expect(challenges.take("guessed")).toBeUndefined();
});

test("a challenge is good for five minutes and no longer", () => {
  const { clock, challenges } = clocked();
  const [used, late] = [challenges.challenge("ada"), challenges.challenge("ada")];
  clock.ms = 299_999;
  expect(challenges.take(used.challengeId)).toBeDefined();
  clock.ms = 300_000;
  expect(challenges.take(late.challengeId)).toBeUndefined();
});

test("over the bound the oldest challenge is forgotten", () => {
  const { challenges } = clocked();
  const [oldest, next] = [challenges.challenge("ada"), challenges.challenge("ada")];
  for (let count = 1; count < MAX_SSH_CHALLENGES; count++) challenges.challenge("bob");
  expect(challenges.take(oldest.challengeId)).toBeUndefined();
  expect(challenges.take(next.challengeId)).toBeDefined();
});
