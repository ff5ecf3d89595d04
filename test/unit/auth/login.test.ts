import { expect, test } from "vitest";
import { z } from "zod";
import { Login } from "../../../src/auth/login.ts";
import { LoginAttempts } from "../../../src/auth/password/attempts.ts";
import { configuredPassword } from "../../../src/auth/password/password-login.ts";
import { OWN } from "../../../src/auth/roles.ts";
import { memoryTickets } from "../../../src/auth/tokens/file-records.ts";
import { LOGIN_LINKS, Tickets } from "../../../src/auth/tokens/tickets.ts";
import { Tally } from "../../../src/lib/data/tally.ts";
import { Secret } from "../../../src/lib/secret.ts";

const password = configuredPassword({ username: "admin", password: Secret.fromText("right") });
const address = "10.0.0.1";

function loginWith(check: typeof password | "not required" | undefined) {
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
    serverUser: "me",
    defaultUser: "admin",
    tokens,
    links,
    attempts: new LoginAttempts(now),
    users: { mayLogIn: () => true },
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
  expect((await login.withPassword({ username: "root", password: "any", address })).user).toBe("me");
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
