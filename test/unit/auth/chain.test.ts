import { expect, test } from "vitest";
import { AccessTokens } from "../../../src/auth/access-token.ts";
import { byBearer, byQueryToken, chain, everyoneIs, onlyFor } from "../../../src/auth/chain.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import { Tickets, WS_TICKETS } from "../../../src/auth/tickets.ts";
import { usersOf } from "../../../src/auth/users.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { BARE } from "./request-facts.ts";

const refused = { code: "unauthorized" };

function login() {
  const clock = { ms: 1_800_000_000_000 };
  const now = () => clock.ms;
  const revoked = new Set<string>();
  const revocations = {
    has: ({ id }: { id: string }) => revoked.has(id),
    add: async ({ id }: { id: string }) => void revoked.add(id),
    watch: () => new DisposableStack(),
  };
  const tokens = new AccessTokens({ secret: Secret.fromText("s".repeat(32)), revocations, now });
  const tickets = new Tickets<Principal>(WS_TICKETS, now);
  const users = usersOf({
    ...{ serverUser: "me", isRoot: false, configuredUser: "admin" },
    ...{ allowUsers: ["ada"], adminUsers: [] },
  });
  const authenticate = chain([
    onlyFor(users, byBearer(tokens)),
    onlyFor(users, byQueryToken(tokens, tickets)),
  ]);
  return { clock, tokens, tickets, authenticate, token: tokens.issue("ada").token };
}

test("a request without any proof is unauthorized", async () => {
  await expect(login().authenticate(BARE)).rejects.toMatchObject({ ...refused, message: "log in first" });
});

test("a Bearer token says who asks, everywhere", async () => {
  const { authenticate, token } = login();
  for (const place of ["api", "websocket", "event-stream"] as const) {
    const request = { ...BARE, authorization: `Bearer ${token}`, place };
    expect(await authenticate(request)).toMatchObject({ user: "ada", method: "token" });
  }
});

test("a token in the query counts on /ws and event streams alone", async () => {
  const { authenticate, token } = login();
  for (const place of ["websocket", "event-stream"] as const) {
    expect((await authenticate({ ...BARE, queryToken: token, place })).user).toBe("ada");
  }
  await expect(authenticate({ ...BARE, queryToken: token })).rejects.toMatchObject(refused);
});

test("a ticket opens one socket, and stands for the token that bought it", async () => {
  const { authenticate, tokens, tickets, token } = login();
  const buyer = { ...tokens.verify(token), rights: OWN };
  const request = { ...BARE, queryToken: tickets.issue(buyer), place: "websocket" } as const;
  expect(await authenticate(request)).toEqual({ ...buyer, method: "ticket" });
  await expect(authenticate(request)).rejects.toMatchObject(refused);
});

test("a ticket is no Bearer token, and is not used up by trying", async () => {
  const { authenticate, tokens, tickets, token } = login();
  const ticket = tickets.issue({ ...tokens.verify(token), rights: OWN });
  await expect(authenticate({ ...BARE, authorization: `Bearer ${ticket}` })).rejects.toMatchObject(refused);
  await expect(authenticate({ ...BARE, queryToken: ticket })).rejects.toMatchObject(refused);
  expect(await authenticate({ ...BARE, queryToken: ticket, place: "websocket" })).toMatchObject({
    user: "ada",
  });
});

test("a ticket dies with the token that bought it", async () => {
  const { authenticate, clock, tokens, tickets, token } = login();
  const buyer = { ...tokens.verify(token), rights: OWN };
  const revoked = tickets.issue(buyer);
  await tokens.revoke(buyer);
  await expect(authenticate({ ...BARE, queryToken: revoked, place: "websocket" })).rejects.toMatchObject(
    refused,
  );
  const other = { ...tokens.verify(tokens.issue("ada").token), rights: OWN };
  clock.ms += 86_400_000 - 1_000;
  const late = tickets.issue(other);
  clock.ms += 1_000;
  await expect(authenticate({ ...BARE, queryToken: late, place: "websocket" })).rejects.toMatchObject(
    refused,
  );
});

test("a wrong Bearer token is refused although the query holds a right one", async () => {
  const { authenticate, token } = login();
  const request = { ...BARE, authorization: "Bearer wrong", queryToken: token, place: "websocket" } as const;
  await expect(authenticate(request)).rejects.toMatchObject(refused);
});

test("another scheme, such as a proxy's own login, does not stand in the way of a query token", async () => {
  const { authenticate, token } = login();
  const request = {
    ...BARE,
    authorization: "Basic dXNlcjpwYXNz",
    queryToken: token,
    place: "websocket",
  } as const;
  expect((await authenticate(request)).user).toBe("ada");
});

test("a token of a user who may not log in any more is refused", async () => {
  const { authenticate, tokens } = login();
  for (const user of ["me", "admin", "ada"]) {
    const request = { ...BARE, authorization: `Bearer ${tokens.issue(user).token}` };
    expect((await authenticate(request)).user).toBe(user);
  }
  const former = { ...BARE, authorization: `Bearer ${tokens.issue("eve").token}` };
  await expect(authenticate(former)).rejects.toMatchObject(refused);
});

test("without login everyone is the server's user, whatever they bring", async () => {
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
