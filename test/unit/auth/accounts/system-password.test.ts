import { expect, test } from "vitest";
import type { PamCheck } from "../../../../src/auth/accounts/pam.ts";
import { systemPassword } from "../../../../src/auth/accounts/system-password.ts";
import { MAX_WAITING_SYSTEM_PASSWORDS, SYSTEM_PASSWORDS_AT_ONCE } from "../../../../src/protocol/limits.ts";

const REFUSAL = { code: "invalid_credentials", message: "wrong user name or password", details: {} };

/** PAM with one user, ada, whose password is "right"; `asked` is what it was asked. */
function system(
  parts: { readonly ask?: PamCheck; readonly refusal?: string; readonly isBlank?: boolean } = {},
) {
  const asked: { username: string; password: string; address?: string | undefined }[] = [];
  const logged: object[] = [];
  const ask: PamCheck = async (question) => {
    asked.push(question);
    return question.username === "ada" && question.password === "right" ? 0 : 7;
  };
  const { refusal, isBlank = false } = parts;
  const check = systemPassword({
    accounts: {
      lookUp: async (name) =>
        name === "ada" || name === "bob"
          ? { account: { name, uid: 1, gid: 1, home: "/", shell: "/bin/sh" }, refusal }
          : {},
      hasBlankPassword: async () => isBlank,
      checkPassword: parts.ask ?? ask,
    },
    users: { mayLogIn: (user) => user !== "bob" },
    log: { warn: (fields: object) => void logged.push(fields) },
    refusalMs: 1,
  });
  return { check, asked, logged };
}

test("the right password of a user logs in as that user, and PAM hears from where", async () => {
  const { check, asked } = system();
  expect(await check({ username: "ada", password: "right", address: "192.0.2.1" })).toBe("ada");
  expect(asked).toEqual([{ username: "ada", password: "right", address: "192.0.2.1" }]);
});

test("everything else is refused in the same words", async () => {
  const { check } = system();
  const attempts = [
    ["ada", "wrong"],
    ["ada", "right\0"],
    ["ada", ""],
    ["Ada", "right"],
    ["0", "right"],
    ["", "right"],
    ["ada\0", "right"],
    ["a".repeat(100_000), "right"],
  ] as const;
  for (const [username, password] of attempts) {
    await expect(check({ username, password }), username).rejects.toMatchObject(REFUSAL);
  }
});

test("PAM is not asked about users who may not log in, unknown ones, and what can be no password", async () => {
  const { check, asked } = system();
  const passwords = ["", "right\0more", "\ud800", "x".repeat(513), "ä".repeat(257)];
  const attempts = [
    ...passwords.map((password) => ({ username: "ada", password })),
    { username: "bob", password: "right" },
    { username: "eve", password: "right" },
  ];
  for (const attempt of attempts) await expect(check(attempt)).rejects.toMatchObject(REFUSAL);
  expect(asked).toEqual([]);
  await expect(check({ username: "ada", password: "x".repeat(512) })).rejects.toMatchObject(REFUSAL);
  expect(asked).toHaveLength(1);
});

test("an account that may not be used is refused, and the log alone says why", async () => {
  for (const pamCode of [6, 9, 11, 12, 13, 4, -1]) {
    const { check, logged } = system({ ask: async () => pamCode });
    await expect(check({ username: "ada", password: "right" })).rejects.toMatchObject(REFUSAL);
    expect(logged).toEqual([{ user: "ada", pamCode }]);
  }
  for (const [found, reason] of [
    [{ refusal: "no shell" }, "no shell"],
    [{ isBlank: true }, expect.stringMatching(/no password/)],
  ] as const) {
    const { check, logged } = system(found);
    await expect(check({ username: "ada", password: "right" })).rejects.toMatchObject(REFUSAL);
    expect(logged).toEqual([{ user: "ada", reason }]);
  }
});

test("what was typed in place of a name is not logged", async () => {
  const { check, logged } = system();
  await expect(check({ username: "my password", password: "x" })).rejects.toMatchObject(REFUSAL);
  expect(logged).toEqual([]);
});

test("PAM is asked about so many passwords at a time, and of too many the last are told to come later", async () => {
  const gate = Promise.withResolvers<number>();
  let asked = 0;
  const ask: PamCheck = () => {
    asked++;
    return gate.promise;
  };
  const { check } = system({ ask });
  const most = SYSTEM_PASSWORDS_AT_ONCE + MAX_WAITING_SYSTEM_PASSWORDS;
  const attempts = Array.from({ length: most + 1 }, () => check({ username: "ada", password: "right" }));
  await expect(attempts.at(-1)).rejects.toMatchObject({
    code: "rate_limited",
    details: { retryAfterSeconds: 5 },
  });
  expect(asked).toBe(SYSTEM_PASSWORDS_AT_ONCE);
  gate.resolve(0);
  expect(await Promise.all(attempts.slice(0, -1))).toHaveLength(most);
});
