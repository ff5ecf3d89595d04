import { expect, test } from "vitest";
import type { Accounts } from "../../../../src/auth/accounts/accounts.ts";
import type { PamStep } from "../../../../src/auth/accounts/methods.ts";
import type { PasswordAttempt } from "../../../../src/auth/password/password-login.ts";
import { systemPassword } from "../../../../src/auth/password/system-password.ts";
import {
  MAX_LOGIN_QUESTIONS,
  MAX_WAITING_SYSTEM_PASSWORDS,
  SYSTEM_PASSWORDS_AT_ONCE,
} from "../../../../src/protocol/limits.ts";

const REFUSAL = { code: "invalid_credentials", message: "wrong user name or password", details: {} };

type OpenPam = Accounts["openPam"];
type Asked = { readonly username: string; readonly password: string; readonly address?: string | undefined };
type PamAnswer = (asked: Asked) => Promise<number>;

const secret = (message: string) => ({ message, echo: false });
const visible = (message: string) => ({ message, echo: true });
const done = (code: number): PamStep => ({ kind: "done", code });
const asks = (...prompts: { message: string; echo: boolean }[]): PamStep => ({
  ...{ kind: "question", prompts, messages: ["hello"] },
});

/** PAM that asks for a password, and answers with a code. */
function passwordPam(answer: PamAnswer): OpenPam {
  return ({ username, address }) => {
    let hasBegun = false;
    return {
      next: async ([given = ""]) => {
        if (!hasBegun) {
          hasBegun = true;
          return asks(secret("Password: "));
        }
        return done(await answer({ username, password: given, address }));
      },
      [Symbol.dispose]: () => undefined,
    };
  };
}

/** Never asked: a test that comes to this fails. */
const nobody = async (): Promise<never> => {
  throw new Error("more than the password was asked for");
};

/** PAM with one user, ada, whose password is "right"; `asked` is what it was asked. */
function system(
  parts: {
    readonly ask?: PamAnswer;
    readonly openPam?: OpenPam;
    readonly refusal?: string;
    readonly isBlank?: boolean;
  } = {},
) {
  const asked: Asked[] = [];
  const logged: object[] = [];
  const ask: PamAnswer = async (question) => {
    asked.push(question);
    return question.username === "ada" && question.password === "right" ? 0 : 7;
  };
  const { refusal, isBlank = false } = parts;
  const checkWith = systemPassword({
    accounts: {
      lookUp: async (name) =>
        name === "ada" || name === "bob"
          ? { account: { name, uid: 1, gid: 1, home: "/", shell: "/bin/sh" }, refusal }
          : {},
      hasBlankPassword: async () => isBlank,
      openPam: parts.openPam ?? passwordPam(parts.ask ?? ask),
    },
    users: { mayLogIn: (user) => user !== "bob" },
    log: { warn: (fields: object) => void logged.push(fields) },
    refusalMs: 1,
  });
  const check = (attempt: PasswordAttempt) => checkWith(attempt, nobody);
  return { check, checkWith, asked, logged };
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
  const ask: PamAnswer = () => {
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

/** PAM that takes these steps whatever it is answered; `given` is what that was. */
function steps(...said: readonly PamStep[]) {
  const given: (readonly string[])[] = [];
  let ended = 0;
  const openPam: OpenPam = () => ({
    next: async (answers) => {
      given.push(answers);
      return said[given.length - 1] ?? done(0);
    },
    [Symbol.dispose]: () => {
      ended += 1;
    },
  });
  return { openPam, given, ended: () => ended };
}

const ADA = { username: "ada", password: "right" };

test("the first secret question gets the password, all others are asked", async () => {
  const { openPam, given } = steps(
    asks(visible("Realm: "), secret("Password: "), secret("PIN: ")),
    asks(secret("Code: ")),
    done(0),
  );
  const questions: unknown[] = [];
  const { checkWith } = system({ openPam });
  const user = await checkWith(ADA, async (question) => {
    questions.push(question);
    return questions.length === 1 ? ["home", "1234"] : ["567"];
  });
  expect(user).toBe("ada");
  expect(questions).toEqual([
    { prompts: [visible("Realm: "), secret("PIN: ")], messages: ["hello"] },
    { prompts: [secret("Code: ")], messages: ["hello"] },
  ]);
  expect(given).toEqual([[], ["home", "right", "1234"], ["567"]]);
});

test("a wrong answer is refused in the words of a wrong password, and what is no answer does not reach PAM", async () => {
  const wrong = steps(asks(secret("Password: ")), asks(secret("Code: ")), done(7));
  await expect(system({ openPam: wrong.openPam }).checkWith(ADA, async () => ["000"])).rejects.toMatchObject(
    REFUSAL,
  );
  expect(wrong.given).toHaveLength(3);
  for (const answers of [[], ["a", "b"], ["a\0"], ["\ud800"], ["x".repeat(513)]]) {
    const { openPam, given, ended } = steps(asks(secret("Password: ")), asks(secret("Code: ")), done(0));
    await expect(system({ openPam }).checkWith(ADA, async () => answers)).rejects.toMatchObject(REFUSAL);
    expect([given.length, ended()]).toEqual([2, 1]);
  }
});

test("a login that nobody answers, or that asks without end, is over at PAM as well", async () => {
  const unanswered = steps(asks(secret("Password: ")), asks(secret("Code: ")));
  await expect(system({ openPam: unanswered.openPam }).checkWith(ADA, nobody)).rejects.toThrow("more than");
  const endless = steps(...Array.from({ length: 99 }, () => asks(secret("Again: "))));
  const { checkWith } = system({ openPam: endless.openPam });
  await expect(checkWith(ADA, async () => ["x"])).rejects.toMatchObject(REFUSAL);
  expect(endless.given).toHaveLength(MAX_LOGIN_QUESTIONS + 2);
  expect([unanswered.ended(), endless.ended()]).toEqual([1, 1]);
});

test("logins that wait for an answer keep nobody else from PAM", async () => {
  const { openPam } = steps();
  const asking: OpenPam = (login) =>
    login.address === "waits"
      ? steps(asks(secret("Password: ")), asks(secret("Code: "))).openPam(login)
      : openPam(login);
  const { checkWith } = system({ openPam: asking });
  const gate = Promise.withResolvers<readonly string[]>();
  const waiting = Array.from({ length: SYSTEM_PASSWORDS_AT_ONCE + 1 }, () => {
    const isAsked = Promise.withResolvers<void>();
    const user = checkWith({ ...ADA, address: "waits" }, () => {
      isAsked.resolve();
      return gate.promise;
    });
    return { isAsked: isAsked.promise, user };
  });
  await Promise.all(waiting.map(({ isAsked }) => isAsked));
  expect(await checkWith(ADA, nobody)).toBe("ada");
  gate.resolve(["123"]);
  expect(await Promise.all(waiting.map(({ user }) => user))).toEqual(waiting.map(() => "ada"));
});
