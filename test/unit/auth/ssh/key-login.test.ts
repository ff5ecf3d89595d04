import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { Login } from "../../../../src/auth/login.ts";
import { LoginAttempts } from "../../../../src/auth/password/attempts.ts";
import { KeyLogin } from "../../../../src/auth/ssh/key-login.ts";
import { memoryTickets } from "../../../../src/auth/tokens/file-records.ts";
import { LOGIN_LINKS, Tickets } from "../../../../src/auth/tokens/tickets.ts";
import { Tally } from "../../../../src/lib/data/tally.ts";
import { base64, newKey, wire } from "./key-pair.ts";

const ada = newKey();
const mallory = newKey();
const address = "192.0.2.7";
const refused = { code: "invalid_credentials", message: expect.stringMatching(/ask for a new one/) };

/** The key belongs to ada, whether or not she may log in. */
function stage({ isOn = true, mayLogIn = ["ada"] } = {}) {
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const pauses: number[] = [];
  const logged: [object, string][] = [];
  const write = (fields: object, message: string) => void logged.push([fields, message]);
  const users = { mayLogIn: (user: string) => mayLogIn.includes(user), own: "ada" };
  const asked: (string | undefined)[][] = [];
  const keys = new KeyLogin({
    isKeyOf: async (user, { bytes }, from) => {
      asked.push([user, from]);
      return user === "ada" && Buffer.compare(bytes, ada.blob.slice(-32)) === 0;
    },
    ...{
      users,
      tickets: memoryTickets(now),
      now,
      wallClock: now,
      pause: async (ms: number) => void pauses.push(ms),
    },
  });
  const login = new Login({
    ...{ password: undefined, users },
    tokens: {
      issue: async (user: string) => ({ token: `token of ${user}`, expiresIn: 86_400, user }),
      revoke: async () => {},
    },
    ...{
      links: new Tickets(LOGIN_LINKS, z.string(), memoryTickets(now)),
      attempts: new LoginAttempts(now),
      logins: new Tally<"method" | "result">("method", "result"),
    },
    ...{ keys: isOn ? keys : undefined, log: { info: write, warn: write } },
  });
  return { login, clock, pauses, logged, asked };
}

function answer(challenge: { challengeId: string; challenge: string }, key = ada) {
  const signature = base64(key.sign(Buffer.from(challenge.challenge, "base64")));
  return { challengeId: challenge.challengeId, publicKey: key.line, signature, address };
}

test("a signed challenge gives a token, for the default user unless the request names one", async () => {
  const { login, logged, asked, pauses } = stage();
  const token = { token: "token of ada", expiresIn: 86_400, user: "ada" };
  expect(await login.withKey(answer(await login.challenge()))).toEqual(token);
  expect(await login.withKey(answer(await login.challenge("ada")))).toEqual(token);
  expect(asked[0]).toEqual(["ada", address]);
  expect(logged[0]).toEqual([{ user: "ada", method: "ssh-key", address }, "logged in"]);
  expect(pauses).toEqual([]);
});

test("a key and a signature log in, each in either encoding", async () => {
  const { login } = stage();
  for (const publicKey of [ada.line, ada.letters]) {
    for (const spell of [(bytes: Uint8Array) => bytes, (bytes: Uint8Array) => wire("ssh-ed25519", bytes)]) {
      const challenge = await login.challenge();
      const signature = base64(spell(ada.sign(Buffer.from(challenge.challenge, "base64"))));
      const { user } = await login.withKey({ ...answer(challenge), publicKey, signature });
      expect(user).toBe("ada");
    }
  }
});

test("a challenge works once, whether or not the login succeeded", async () => {
  const { login } = stage();
  const first = await login.challenge();
  await login.withKey(answer(first));
  await expect(login.withKey(answer(first))).rejects.toMatchObject(refused);
  const second = await login.challenge();
  await expect(login.withKey({ ...answer(second), signature: "AAAA" })).rejects.toMatchObject(refused);
  await expect(login.withKey(answer(second))).rejects.toMatchObject(refused);
});

test("a challenge expires after five minutes", async () => {
  const { login, clock } = stage();
  const challenge = await login.challenge();
  clock.ms = 300_000;
  await expect(login.withKey(answer(challenge))).rejects.toMatchObject(refused);
});

test("every refusal has the same message and delay", async () => {
  const { login, pauses, asked } = stage({ mayLogIn: ["ada", "nobody"] });
  const [one, other] = [await login.challenge(), await login.challenge()];
  const wrong = [
    answer(await login.challenge(), mallory),
    { ...answer(await login.challenge()), publicKey: mallory.line },
    { ...answer(await login.challenge()), signature: answer(await login.challenge()).signature },
    { ...answer(one), challengeId: other.challengeId },
    answer(await login.challenge("nobody")),
    answer(await login.challenge("unlisted")),
    { ...answer(await login.challenge()), challengeId: "guessed" },
    { ...answer(await login.challenge()), publicKey: "ssh-rsa AAAA" },
    { ...answer(await login.challenge()), signature: "no base64" },
  ];
  const errors: unknown[] = [];
  for (const [at, each] of wrong.entries()) {
    const from = { ...each, address: `192.0.2.${at}` };
    errors.push(await login.withKey(from).catch((error) => error));
  }
  for (const error of errors) expect(error).toEqual(errors[0]);
  expect(errors[0]).toMatchObject({ ...refused, details: {} });
  expect(pauses).toEqual(wrong.map(() => 500));
  // No lookup without a valid signature, nor for a user who may not log in.
  expect(asked.map(([user]) => user)).toEqual(["ada", "nobody"]);
});

test("failed key logins are limited by address, not elsewhere, and use their challenges up", async () => {
  const { login, logged } = stage();
  for (let count = 0; count < 10; count++) {
    await expect(login.withKey(answer(await login.challenge(), mallory))).rejects.toMatchObject(refused);
  }
  const challenge = await login.challenge();
  await expect(login.withKey(answer(challenge))).rejects.toMatchObject({ code: "rate_limited" });
  expect(logged).toHaveLength(10);
  expect(logged[0]).toEqual([{ method: "ssh-key", address }, "login refused"]);
  const elsewhere = { ...answer(await login.challenge()), address: "198.51.100.1" };
  expect(await login.withKey(elsewhere)).toMatchObject({ user: "ada" });
});

test("without --enable-ssh-keys there is neither a challenge nor a login", async () => {
  const { login } = stage({ isOn: false });
  await expect(login.challenge("ada")).rejects.toMatchObject({ code: "ssh_keys_disabled" });
  const proof = { challengeId: "x", publicKey: ada.line, signature: "AAAA", address };
  await expect(login.withKey(proof)).rejects.toMatchObject({ code: "ssh_keys_disabled" });
});

test("every wrong key and signature gets the same refusal", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.uint8Array({ minLength: 64, maxLength: 64 }).map(base64),
    fc.constantFrom(ada.line, mallory.line, ada.letters),
  );
  await fc.assert(
    fc.asyncProperty(text, text, async (publicKey, signature) => {
      const { login } = stage();
      const proof = { challengeId: (await login.challenge()).challengeId, publicKey, signature, address };
      await expect(login.withKey(proof)).rejects.toMatchObject(refused);
    }),
  );
});
