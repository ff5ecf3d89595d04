import { expect, test } from "vitest";
import { z } from "zod";
import { checkAccounts } from "../../../../src/auth/accounts/account-check.ts";
import type { AccountStatus } from "../../../../src/auth/accounts/methods.ts";
import { neverOver } from "../../../../src/auth/chain.ts";
import type { Principal } from "../../../../src/auth/principal.ts";
import { ALL, OWN, rightsOf } from "../../../../src/auth/roles.ts";
import { BARE } from "../request-claims.ts";

const ada: Principal = {
  ...{ user: "ada", method: "token", tokenId: "login" },
  ...{ rights: OWN, owner: "ada", account: "ada" },
};
const account = { name: "ada", uid: 1, gid: 1, home: "/", shell: "/bin/sh" };
const OPEN: AccountStatus = { account };
const CLOSED: AccountStatus = { account, refusal: "the account has expired" };
const MISSING: AccountStatus = {};
const refused = { code: "unauthorized", message: "this user may not log in here" };

const Way = z.enum(["login", "proxy", "other"]);

/** `of` is whom the request comes from; `status` what the system says of everybody, until it is changed. */
function stage(
  of: Principal,
  { status = OPEN, hasSystemUsers = true, through = "login", isAllowed = true, rights = OWN } = {},
) {
  const system = { status, failure: undefined as Error | undefined, asked: 0 };
  const logins = { authenticate: async () => of, whenOver: neverOver };
  const { authenticate, whenOver } = checkAccounts(logins, {
    accounts: {
      status: async () => {
        system.asked++;
        if (system.failure !== undefined) throw system.failure;
        return system.status;
      },
    },
    creatorOf: (shareId) => ({ user: shareId === "of-ada" ? "ada" : "root", through: Way.parse(through) }),
    users: {
      isOwn: (user) => user === "root",
      mayLogIn: () => isAllowed,
      standing: () => ({ rights }),
    },
    ...{ hasSystemUsers, intervalMs: 1, log: { info: () => {}, warn: () => {} } },
  });
  return { system, ask: () => authenticate(BARE), whenOver };
}

test("an open account is let in, a closed and a missing one are not", async () => {
  expect(await stage(ada).ask()).toBe(ada);
  for (const status of [CLOSED, MISSING]) {
    await expect(stage(ada, { status }).ask()).rejects.toMatchObject(refused);
    for (const method of ["ticket", "api-token"] as const) {
      await expect(stage({ ...ada, method }, { status }).ask()).rejects.toMatchObject(refused);
    }
  }
});

test("a server that is not root checks the accounts of those who log in to it, where these are users of the system", async () => {
  const { account: _, ...asServer } = ada;
  await expect(stage(asServer, { status: CLOSED }).ask()).rejects.toMatchObject(refused);
  expect(await stage(asServer, { status: CLOSED, hasSystemUsers: false }).ask()).toBe(asServer);
});

test("a ticket that was bought by a proxy's word says as little of an account as the proxy does", async () => {
  const { tokenId: _, ...named } = { ...ada, method: "ticket" as const };
  expect(await stage(named, { status: MISSING }).ask()).toBe(named);
  await expect(stage(named, { status: CLOSED }).ask()).rejects.toMatchObject(refused);
});

test.each(["proxy", "hq"] as const)("whom a %s names may be unknown here, but not closed", async (method) => {
  const named = { ...ada, method };
  expect(await stage(named, { status: MISSING }).ask()).toBe(named);
  await expect(stage(named, { status: CLOSED }).ask()).rejects.toMatchObject(refused);
});

test("the guest of a share link is let in as long as the account of whoever made it is open", async () => {
  const rights = { kind: "invited", session: { id: "x", key: "k" }, mode: "type" } as const;
  const guest: Principal = { user: "guest-1", method: "share", rights, tokenId: "of-ada" };
  expect(await stage(guest).ask()).toBe(guest);
  await expect(stage(guest, { status: MISSING }).ask()).rejects.toMatchObject(refused);
  // A proxy's user need not be one of the system.
  expect(await stage(guest, { status: MISSING, through: "proxy" }).ask()).toBe(guest);
  await expect(stage(guest, { isAllowed: false }).ask()).rejects.toMatchObject(refused);
  await expect(stage(guest, { status: CLOSED }).ask()).rejects.toMatchObject(refused);
  await expect(stage({ ...guest, method: "ticket" }, { status: CLOSED }).ask()).rejects.toMatchObject(
    refused,
  );
});

test("the guest of a share link is let in as long as the role of whoever made it permits to share", async () => {
  const session = { id: "x", key: "k" };
  const guest: Principal = {
    ...{ user: "guest-1", method: "share", tokenId: "of-ada" },
    rights: { kind: "invited", session, mode: "view" },
  };
  expect(await stage(guest, { rights: rightsOf("operator") }).ask()).toBe(guest);
  await expect(stage(guest, { rights: rightsOf("viewer") }).ask()).rejects.toMatchObject(refused);
  // The groups that a proxy named then are not known now.
  expect(await stage(guest, { rights: rightsOf("viewer"), through: "proxy" }).ask()).toBe(guest);
});

test("the server's own user and guests of that user are not looked up", async () => {
  const session = { id: "x", key: "k" };
  const guest: Principal = {
    user: "guest-1",
    method: "share",
    rights: { kind: "invited", session, mode: "view" },
  };
  for (const own of [guest, { user: "root", method: "token", rights: ALL } as const]) {
    const { system, ask, whenOver } = stage(own, { status: CLOSED });
    expect(await ask()).toBe(own);
    whenOver(own, () => expect.unreachable())[Symbol.dispose]();
    expect(system.asked).toBe(0);
  }
});

test("what is open ends once, when the account is closed, and not where the system does not answer", async () => {
  const { system, whenOver } = stage(ada);
  const reasons: string[] = [];
  using _watch = whenOver(ada, (reason) => reasons.push(reason));
  system.failure = new Error("no answer");
  await expect.poll(() => system.asked).toBeGreaterThan(2);
  expect(reasons).toEqual([]);
  [system.failure, system.status] = [undefined, CLOSED];
  await expect.poll(() => reasons).toEqual(["account closed"]);
  const { asked } = system;
  await someChecks();
  expect(system.asked).toBe(asked);
});

test("nothing is checked for what has ended", async () => {
  const { system, whenOver } = stage(ada);
  whenOver(ada, () => expect.unreachable())[Symbol.dispose]();
  await someChecks();
  expect(system.asked).toBe(0);
});

/** Resolves when an open socket has been checked a few times. */
async function someChecks(): Promise<void> {
  const { system, whenOver } = stage(ada);
  using _watch = whenOver(ada, () => expect.unreachable());
  await expect.poll(() => system.asked).toBeGreaterThan(2);
}
