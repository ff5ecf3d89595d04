// The user of an account at a provider: a verified email, or issuer and subject, and nothing else.
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { LOGIN_COOKIE, OidcStage, useOidcStage } from "./oidc-stage.ts";

const stage = useOidcStage({
  users: (issuer) => [
    ...["--admin-user", "eve@example.com", "--admin-user", `${issuer}#42`],
    ...["--allow-user", "17", "--allow-user", "ada", "--allow-user", "ada@example.com"],
    ...["--proxy-oidc-require", "hd=example.com", "--proxy-oidc-require", "hd=example.org"],
  ],
});

/** The server's user for these claims; `undefined`: nobody. */
async function userOf(claims: Readonly<Record<string, unknown>>): Promise<unknown> {
  const at = stage();
  at.provider.person = { sub: "1", hd: "example.com", ...claims };
  const client = at.stranger();
  await at.logIn(client);
  return await at.userOf(client);
}

test.each<[string, Record<string, unknown>]>([
  ["an admin's email that was not verified", { email: "eve@example.com", email_verified: false }],
  ["an admin's email of which nothing is said", { email: "eve@example.com" }],
  ["an admin's email that is verified in other words", { email: "eve@example.com", email_verified: "yes" }],
  ["an admin's email as preferred name", { preferred_username: "eve@example.com" }],
  ["the configured user's name as preferred name", { preferred_username: "server" }],
  ["the configured user's name as verified email", { email: "server", email_verified: true }],
  ["an allowed name as preferred name", { preferred_username: "ada" }],
  ["an allowed name as subject", { sub: "17" }],
  ["another subject of the right issuer", { sub: "4" }],
])("%s logs nobody in", async (_, claims) => {
  expect(await userOf(claims)).toBeUndefined();
});

test("a user whom no option admits is refused at the login, and so in the audit log", async () => {
  const at = stage();
  at.provider.person = { sub: "1", hd: "example.com", email: "mallory@example.com", email_verified: true };
  const client = at.stranger();
  const page = await at.logIn(client);
  expect([page.status, client.cookies(at.origin).get(LOGIN_COOKIE)]).toEqual([403, undefined]);
  expect(page.text).toContain("The user mallory@example.com may not log in here.");
  const last = await eventually(async () => {
    const lines = await new AuditLog(at.server.controlDir).wholeLines();
    return lines.findLast(({ user }) => user === "mallory@example.com");
  }, "the audit log");
  expect(last).toMatchObject({ action: "login", result: "refused", method: "oidc" });
});

test("issuer and subject in the text of an email are not issuer and subject", async () => {
  const email = `${stage().provider.issuer}#42`;
  expect(await userOf({ sub: "9", email, email_verified: true, preferred_username: email })).toBeUndefined();
});

test("a verified email logs in", async () => {
  expect(await userOf({ email: "ada@example.com", email_verified: true })).toBe("ada@example.com");
});

test("a named subject logs in whatever else the provider says, and is named by issuer and subject", async () => {
  const { issuer } = stage().provider;
  expect(await userOf({ sub: "42", email: "x@example.com" })).toBe(`${issuer}#42`);
  expect(await userOf({ sub: "42", email: "ada@example.com", email_verified: true })).toBe(`${issuer}#42`);
});

test.each([undefined, "evil.example", "", "EXAMPLE.COM", true])("hd %j is another tenant's", async (hd) => {
  expect(await userOf({ sub: "42", email: "eve@example.com", email_verified: true, hd })).toBeUndefined();
});

test("hd may be any of the values that are required", async () => {
  expect(await userOf({ email: "ada@example.com", email_verified: true, hd: "example.org" })).toBe(
    "ada@example.com",
  );
});

test("the claim that an option trusts is the name; an email that is not verified is none", async () => {
  await using named = await OidcStage.open({ args: () => ["--proxy-oidc-claim", "preferred_username"] });
  const userOfNamed = async (claims: Readonly<Record<string, unknown>>): Promise<unknown> => {
    named.provider.person = { sub: "1", ...claims };
    const client = named.browser();
    await named.logIn(client);
    return await named.userOf(client);
  };
  const { issuer } = named.provider;
  expect(await userOfNamed({ preferred_username: "ada", email: "eve@example.com" })).toBe("ada");
  expect(await userOfNamed({ email: "eve@example.com", email_verified: true })).toBe(`${issuer}#1`);
  expect(await userOfNamed({ preferred_username: `${issuer}#42` })).toBe(`${issuer}#1`);
  // No option names the configured user, who is not the provider's user of that name.
  expect(await userOfNamed({ preferred_username: "server" })).toBeUndefined();
});

test("a group of the provider gives a role, and admits nobody", async () => {
  const roles = [
    "--proxy-oidc-groups",
    "groups",
    "--role",
    "%the ops=operator",
    "--allow-user",
    "ada@example.com",
  ];
  await using stage = await OidcStage.open({ users: () => roles });
  const metrics = async (claims: Readonly<Record<string, unknown>>): Promise<unknown> => {
    stage.provider.person = { email_verified: true, ...claims };
    const client = stage.browser();
    await stage.logIn(client);
    return (await client.ask(`${stage.origin}/metrics`)).status;
  };
  expect(await metrics({ sub: "1", email: "ada@example.com", groups: ["x", "the ops"] })).toBe(200);
  expect(await metrics({ sub: "2", email: "ada@example.com", groups: ["ops", "the ops,x"] })).toBe(403);
  expect(await metrics({ sub: "3", email: "ada@example.com", groups: "the ops" })).toBe(403);
  expect(await metrics({ sub: "4", email: "eve@example.com", groups: ["the ops"] })).toBe(401);
});
