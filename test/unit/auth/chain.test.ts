import { expect, test } from "vitest";
import { z } from "zod";
import type { RequestClaims } from "../../../src/auth/chain.ts";
import { admission, byBearer, byQueryToken, chain, everyoneIs } from "../../../src/auth/chain.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN, permits } from "../../../src/auth/roles.ts";
import { AccessTokens } from "../../../src/auth/tokens/access-token.ts";
import { memoryRecords } from "../../../src/auth/tokens/file-records.ts";
import { LoginRecords } from "../../../src/auth/tokens/login-records.ts";
import { Tickets, WS_TICKETS } from "../../../src/auth/tokens/tickets.ts";
import { usersOf } from "../../../src/auth/users.ts";
import { Secret } from "../../../src/lib/secret.ts";
import type { Role } from "../../../src/protocol/schemas/permission.ts";
import { Permission } from "../../../src/protocol/schemas/permission.ts";
import { BARE } from "./request-claims.ts";

const HERE = { address: undefined };

const refused = { code: "unauthorized" };

async function login() {
  const clock = { ms: 1_800_000_000_000 };
  const now = () => clock.ms;
  const records = memoryRecords(now);
  const log = { warn: () => {} };
  const logins = new LoginRecords({ records, now, log });
  const tokens = new AccessTokens({ secret: Secret.fromText("s".repeat(32)), records, logins, now });
  const tickets = new Tickets(WS_TICKETS, z.custom<Principal>(), records.tickets);
  const users = usersOf({
    ...{ serverUser: "me", isRoot: false, configuredUser: "admin" },
    ...{ allowUsers: ["ada"], adminUsers: [], roles: [], identity: undefined },
  });
  const prove = chain([byBearer(tokens), byQueryToken(tokens, tickets)]);
  const admit = admission(users);
  const authenticate = async (request: RequestClaims) => await admit(await prove(request), request);
  return { clock, tokens, tickets, authenticate, token: (await tokens.issue("ada", "password", HERE)).token };
}

test("a request without any proof is unauthorized", async () => {
  await expect((await login()).authenticate(BARE)).rejects.toMatchObject({
    ...refused,
    message: "log in first",
  });
});

test("a Bearer token names the user, everywhere", async () => {
  const { authenticate, token } = await login();
  for (const place of ["api", "websocket", "event-stream"] as const) {
    const request = { ...BARE, authorization: `Bearer ${token}`, place };
    expect(await authenticate(request)).toMatchObject({ user: "ada", method: "token" });
  }
});

test("a token in the query counts only for /ws and event streams", async () => {
  const { authenticate, token } = await login();
  for (const place of ["websocket", "event-stream"] as const) {
    expect((await authenticate({ ...BARE, queryToken: token, place })).user).toBe("ada");
  }
  await expect(authenticate({ ...BARE, queryToken: token })).rejects.toMatchObject(refused);
});

test("a ticket opens one socket, as the user of the token that bought it", async () => {
  const { authenticate, tokens, tickets, token } = await login();
  const buyer = { ...(await tokens.verify(token)), rights: OWN };
  const request = { ...BARE, queryToken: await tickets.issue(buyer), place: "websocket" } as const;
  expect(await authenticate(request)).toEqual({ ...buyer, method: "ticket" });
  await expect(authenticate(request)).rejects.toMatchObject(refused);
});

test("a ticket is no Bearer token, and survives being sent as one", async () => {
  const { authenticate, tokens, tickets, token } = await login();
  const ticket = await tickets.issue({ ...(await tokens.verify(token)), rights: OWN });
  await expect(authenticate({ ...BARE, authorization: `Bearer ${ticket}` })).rejects.toMatchObject(refused);
  await expect(authenticate({ ...BARE, queryToken: ticket })).rejects.toMatchObject(refused);
  expect(await authenticate({ ...BARE, queryToken: ticket, place: "websocket" })).toMatchObject({
    user: "ada",
  });
});

test("a ticket becomes invalid with the token that bought it", async () => {
  const { authenticate, clock, tokens, tickets, token } = await login();
  const buyer = { ...(await tokens.verify(token)), rights: OWN };
  const revoked = await tickets.issue(buyer);
  await tokens.revoke(buyer);
  await expect(authenticate({ ...BARE, queryToken: revoked, place: "websocket" })).rejects.toMatchObject(
    refused,
  );
  const other = {
    ...(await tokens.verify((await tokens.issue("ada", "password", HERE)).token)),
    rights: OWN,
  };
  clock.ms += 86_400_000 - 1_000;
  const late = await tickets.issue(other);
  clock.ms += 1_000;
  await expect(authenticate({ ...BARE, queryToken: late, place: "websocket" })).rejects.toMatchObject(
    refused,
  );
});

test("a wrong Bearer token is refused even if the query has a valid one", async () => {
  const { authenticate, token } = await login();
  const request = { ...BARE, authorization: "Bearer wrong", queryToken: token, place: "websocket" } as const;
  await expect(authenticate(request)).rejects.toMatchObject(refused);
});

test("a query token works beside another Authorization scheme, such as a proxy's own login", async () => {
  const { authenticate, token } = await login();
  const request = {
    ...BARE,
    authorization: "Basic dXNlcjpwYXNz",
    queryToken: token,
    place: "websocket",
  } as const;
  expect((await authenticate(request)).user).toBe("ada");
});

test("a token is refused once its user may not log in", async () => {
  const { authenticate, tokens } = await login();
  for (const user of ["me", "admin", "ada"]) {
    const request = {
      ...BARE,
      authorization: `Bearer ${(await tokens.issue(user, "password", HERE)).token}`,
    };
    expect((await authenticate(request)).user).toBe(user);
  }
  const former = { ...BARE, authorization: `Bearer ${(await tokens.issue("eve", "password", HERE)).token}` };
  await expect(authenticate(former)).rejects.toMatchObject(refused);
});

test("without login every request is the server's user, whatever proof it has", async () => {
  const authenticate = chain([everyoneIs("ada", "none")]);
  const request = {
    ...BARE,
    authorization: "Bearer wrong",
    queryToken: "wrong",
    place: "websocket",
  } as const;
  expect(await authenticate(request)).toEqual({ user: "ada", method: "none", rights: ALL });
  expect(await authenticate(BARE)).toEqual({ user: "ada", method: "none", rights: ALL });
});

test("an API token has the permissions of its scope that its user's role has now", async () => {
  const { tokens } = await login();
  const { token } = await tokens.issueApiToken(3_600, {
    ...{ user: "ada", method: "token", name: "ci", address: undefined },
    scope: ["sessions:view", "sessions:create", "metrics:view"],
  });
  const asRole = async (role: Role) => {
    const users = usersOf({
      ...{ serverUser: "me", isRoot: false, configuredUser: undefined },
      ...{ allowUsers: [], adminUsers: [], roles: [{ user: "ada", role }], identity: undefined },
    });
    const { rights, method } = await admission(users)(await tokens.verify(token), BARE);
    expect(method).toBe("api-token");
    return Permission.options.filter((permission) => permits(rights, permission));
  };
  expect(await asRole("admin")).toEqual(["sessions:view", "sessions:create", "metrics:view"]);
  expect(await asRole("user")).toEqual(["sessions:view", "sessions:create"]);
  expect(await asRole("viewer")).toEqual(["sessions:view"]);
});

test("a ticket of an API token has no more than the token", async () => {
  const { tokens, tickets, authenticate } = await login();
  const { token } = await tokens.issueApiToken(3_600, {
    ...{ user: "ada", method: "token", name: "ci", address: undefined, scope: ["sessions:view"] },
  });
  const holder = await authenticate({ ...BARE, authorization: `Bearer ${token}` });
  const queryToken = await tickets.issue(holder);
  const { rights } = await authenticate({ ...BARE, queryToken, place: "websocket" });
  expect(Permission.options.filter((permission) => permits(rights, permission))).toEqual(["sessions:view"]);
});
