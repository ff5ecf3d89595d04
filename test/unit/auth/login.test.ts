import { expect, test } from "vitest";
import { z } from "zod";
import { Login } from "../../../src/auth/login.ts";
import type { FactorStore } from "../../../src/auth/passkey/factor-store.ts";
import { PendingFactor, SecondFactor } from "../../../src/auth/passkey/second-factor.ts";
import { LoginAttempts } from "../../../src/auth/password/attempts.ts";
import type { LoginGroup } from "../../../src/auth/password/login-questions.ts";
import { configuredPassword, type PasswordCheck } from "../../../src/auth/password/password-login.ts";
import { OWN } from "../../../src/auth/roles.ts";
import { memoryTickets } from "../../../src/auth/tokens/file-records.ts";
import { ENROLMENT_CODES, LOGIN_LINKS, SECOND_FACTORS, Tickets } from "../../../src/auth/tokens/tickets.ts";
import { Tally } from "../../../src/lib/data/tally.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

const password = configuredPassword({ username: "admin", password: Secret.fromText("right") });
const address = "10.0.0.1";

function loginWith(
  check: PasswordCheck | "not required" | undefined,
  secondFactor?: SecondFactor,
  group?: LoginGroup,
) {
  const now = () => 0;
  const links = new Tickets(LOGIN_LINKS, z.string(), memoryTickets(now));
  const tokens = {
    issue: async (user: string) => ({ token: `token of ${user}`, expiresIn: 86_400, user }),
    revoke: async () => {},
  };
  const logged: [object, string][] = [];
  const write = (fields: object, message: string) => void logged.push([fields, message]);
  const parts = {
    password: check,
    log: { info: write, warn: write },
    tokens,
    links,
    attempts: new LoginAttempts(now),
    users: { mayLogIn: () => true, own: "admin" },
    ...{ secondFactor, group },
    keys: undefined,
    logins: new Tally<"method" | "result">("method", "result"),
  };
  return { login: new Login(parts), links, logged };
}

test("the right password gives a token, with or without the user's name", async () => {
  const { login } = loginWith(password);
  const token = { token: "token of admin", expiresIn: 86_400, user: "admin" };
  expect(await login.withPassword({ username: "admin", password: "right", address })).toEqual(token);
  expect(await login.withPassword({ password: "right", address })).toEqual(token);
});

test("an empty password is refused", async () => {
  const { login } = loginWith(password);
  await expect(login.withPassword({ address })).rejects.toMatchObject({ code: "invalid_credentials" });
});

test("after too many wrong passwords the right one is refused as well", async () => {
  const { login } = loginWith(password);
  for (let count = 0; count < 10; count++) {
    await expect(login.withPassword({ password: "wrong", address })).rejects.toMatchObject({
      code: "invalid_credentials",
    });
  }
  await expect(login.withPassword({ password: "right", address })).rejects.toMatchObject({
    code: "rate_limited",
  });
});

test("without login anyone gets a token of the server's user", async () => {
  const { login } = loginWith("not required");
  expect((await login.withPassword({ username: "root", password: "any", address })).user).toBe("admin");
});

test("without a configured password a password login is refused as disabled", async () => {
  const { login } = loginWith(undefined);
  await expect(login.withPassword({ password: "any", address })).rejects.toMatchObject({
    code: "password_disabled",
  });
});

test("a login link gives a token once", async () => {
  const { login, links } = loginWith(undefined);
  const ticket = await links.issue("me");
  expect((await login.withLink({ ticket, address })).user).toBe("me");
  await expect(login.withLink({ ticket, address })).rejects.toMatchObject({ code: "unauthorized" });
});

test("guessing login links is limited like guessing passwords", async () => {
  const { login, links } = loginWith(password);
  for (let count = 0; count < 10; count++) await login.withLink({ ticket: "guess", address }).catch(() => {});
  const ticket = await links.issue("me");
  await expect(login.withLink({ ticket, address })).rejects.toMatchObject({ code: "rate_limited" });
  expect((await login.withLink({ ticket, address: "10.0.0.2" })).user).toBe("me");
});

test("the log has successful and refused logins, without the name that was given", async () => {
  const { login, links, logged } = loginWith(password);
  await login.withPassword({ password: "right", address });
  await login.withPassword({ username: "my password", password: "", address }).catch(() => {});
  await login.withLink({ ticket: await links.issue("ada"), address });
  await login.withLink({ ticket: "guessed", address }).catch(() => {});
  await login.logOut({ user: "ada", method: "token", rights: OWN });
  expect(logged).toEqual([
    [{ user: "admin", method: "password", address }, "logged in"],
    [{ method: "password", address }, "login refused"],
    [{ user: "ada", method: "link", address }, "logged in"],
    [{ method: "link", address }, "login refused"],
    [{ user: "ada" }, "logged out"],
  ]);
});

test("logins beyond the limit do not fill the log", async () => {
  const { login, logged } = loginWith(password);
  for (let count = 0; count < 20; count++) await login.withPassword({ address }).catch(() => {});
  expect(logged).toHaveLength(10);
});

/** The user's passkey cannot be used here, only recovery codes. */
async function requiredFactor() {
  const passkey = { id: "key", name: "key", rpId: "host", createdAt: "2026-11-27T00:00:00Z" };
  let factors: Awaited<ReturnType<FactorStore["get"]>> = {
    passkeys: [{ ...passkey, publicKey: "", counter: 0, transports: [] }],
    recovery: [],
  };
  const tickets = memoryTickets(() => 0);
  const secondFactor = new SecondFactor({
    store: {
      get: async () => factors,
      change: async (_, change) => {
        factors = await change(factors);
      },
    },
    pending: new Tickets(SECOND_FACTORS, PendingFactor, tickets),
    enrolmentCodes: new Tickets(ENROLMENT_CODES, z.string(), tickets),
    isRequired: true,
    now: () => new Date(0),
  });
  return { secondFactor, codes: await secondFactor.renewCodes("admin") };
}

async function challengeOf(request: Promise<unknown>): Promise<string> {
  const error = await request.catch((failure: unknown) => failure);
  if (!(error instanceof ServiceError)) throw error;
  return z.object({ challengeId: z.string() }).parse(error.details).challengeId;
}

/** Others fail until the address is refused. */
async function exhaust(login: Login): Promise<void> {
  const tries = Array.from({ length: 11 }, (_, index) =>
    login.withPassword({ username: `user${index}`, password: "wrong", address }),
  );
  expect((await Promise.allSettled(tries)).at(-1)).toMatchObject({ reason: { code: "rate_limited" } });
}

test("failures of others at an address do not stop a user who has logged in there at the second factor", async () => {
  const { secondFactor, codes } = await requiredFactor();
  const { login } = loginWith(password, secondFactor);
  const [first, second] = codes;
  await login.withPassword({ password: "right", recoveryCode: first, address });
  await exhaust(login);
  const challengeId = await challengeOf(login.withPassword({ password: "right", address }));
  const { user } = await login.withSecondFactor({ challengeId, recoveryCode: second, address });
  expect(user).toBe("admin");
});

test("failures of others at an address do not stop a user who has logged in there at a question", async () => {
  const { login } = loginWith(async (attempt, ask) => {
    const user = await password(attempt);
    if (attempt.password === "right") await ask({ prompts: [], messages: [] });
    return user;
  });
  const answered = async (challengeId: string) =>
    (await login.withAnswers({ challengeId, answers: [], address })).user;
  const begun = () => challengeOf(login.withPassword({ password: "right", address }));
  expect(await answered(await begun())).toBe("admin");
  await exhaust(login);
  expect(await answered(await begun())).toBe("admin");
});

/** Two HQs that pass answers on to each other, and the number of times that they did. */
function pairOfHqs() {
  const answers = new Map<string, (request: string) => Promise<string>>();
  const seal = new Seal(Secret.fromText("the secret of the group"));
  const passed: string[] = [];
  const at = (ownId: string): LoginGroup => ({
    seal,
    calls: {
      ownId,
      serve: (answer) => void answers.set(ownId, answer),
      call: async (to, request) => {
        passed.push(to);
        return (await answers.get(to)?.(request)) ?? "{}";
      },
    },
  });
  return { at, passed };
}

const askingOnce: PasswordCheck = async (attempt, ask) => {
  const user = await password(attempt);
  await ask({ prompts: [], messages: [] });
  return user;
};

test("failures of others at an address do not stop a login that has begun from continuing at another HQ", async () => {
  const { at } = pairOfHqs();
  const { login: one } = loginWith(askingOnce, undefined, at("one"));
  const { login: other } = loginWith(password, undefined, at("other"));
  const challengeId = await challengeOf(one.withPassword({ password: "right", address }));
  await exhaust(other);
  const { user } = await other.withAnswers({ challengeId, answers: [], address });
  expect(user).toBe("admin");
  await expect(other.withAnswers({ challengeId, answers: [], address })).rejects.toMatchObject({
    code: "rate_limited",
  });
});

test("guesses at the questions of another HQ are refused without asking it", async () => {
  const { at, passed } = pairOfHqs();
  const { login: one } = loginWith(askingOnce, undefined, at("one"));
  const { login: other } = loginWith(password, undefined, at("other"));
  const challengeId = await challengeOf(one.withPassword({ password: "right", address }));
  for (const guess of ["one.guess", challengeId.slice(0, -1), challengeId.replace("one", "two")]) {
    const request = other.withAnswers({ challengeId: guess, answers: [], address });
    await expect(request).rejects.toMatchObject({ code: "unauthorized" });
  }
  expect(passed).toEqual([]);
});

test("guessing the challenges of others is limited like guessing passwords", async () => {
  const { secondFactor } = await requiredFactor();
  for (const guess of ["withSecondFactor", "withAnswers"] as const) {
    const { login } = loginWith(password, secondFactor);
    const codes: unknown[] = [];
    for (let count = 0; count < 11; count++) {
      const request = login[guess]({ challengeId: "guess", answers: [], recoveryCode: "x", address });
      codes.push(await request.catch(({ code }: ServiceError) => code));
    }
    expect(codes).toEqual([...Array(10).fill("unauthorized"), "rate_limited"]);
  }
});
