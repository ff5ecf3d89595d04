import { describe, expect, test } from "vitest";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import { type UserNames, type Users, usersOf } from "../../../src/auth/users.ts";

function users(more: Partial<UserNames> = {}): Users {
  const names = { serverUser: "me", isRoot: false, configuredUser: "web", roles: [], identity: undefined };
  return usersOf({ ...names, allowUsers: ["ada"], adminUsers: ["eve"], ...more });
}

test.each(["me", "web", "ada", "eve"])("%s may log in", (user) => expect(users().mayLogIn(user)).toBe(true));
test.each(["", "*", "ME", "ada ", "bob"])("%j may not", (user) => expect(users().mayLogIn(user)).toBe(false));

test("* admits every authenticated user", () => {
  expect(users({ allowUsers: ["*"] }).mayLogIn("ada@example.com")).toBe(true);
});

describe("a server that runs as root", () => {
  const root = { serverUser: "root", isRoot: true, configuredUser: undefined, adminUsers: [] };

  test("admits every system user", () => {
    expect(users({ ...root, allowUsers: [] }).mayLogIn("bob")).toBe(true);
  });

  test("admits only the named users if there are any", () => {
    const named = users({ ...root, allowUsers: ["ada"] });
    expect(["root", "ada", "bob"].map((user) => named.mayLogIn(user))).toEqual([true, true, false]);
  });

  test("runs programs as the user who logged in, and its own user's programs as itself", () => {
    const named = users({ ...root, configuredUser: "web", adminUsers: ["eve"] });
    const accounts = ["root", "web", "ada", "eve"].map((user) => named.standing(user).account);
    expect(accounts).toEqual([undefined, undefined, "ada", "eve"]);
  });
});

test("on a root server an owner is a system user, even one with the server user's name", () => {
  const names = { serverUser: "root", isRoot: true, configuredUser: "web", adminUsers: [] };
  expect(["root", "web", "ada"].map(users(names).accountOf)).toEqual(["root", "web", "ada"]);
  expect(users().accountOf("me")).toBeUndefined();
});

test("a server that is not root runs all programs as itself", () => {
  expect(users().standing("ada").account).toBeUndefined();
});

test("the server's own user and admins see all sessions, others see their own", () => {
  expect(users().standing("me")).toEqual({ rights: ALL });
  expect(users().standing("web")).toEqual({ rights: ALL });
  expect(users().standing("eve")).toMatchObject({ rights: ALL, owner: "eve" });
  expect(users().standing("ada")).toMatchObject({ rights: OWN, owner: "ada" });
});

describe("roles", () => {
  const roles = [
    { group: "ops", role: "operator" },
    { user: "ada", role: "auditor" },
    { group: "staff", role: "viewer" },
    { user: "*", role: "viewer" },
  ] as const;
  const roleOf = (user: string, groups: readonly string[] = []): unknown => {
    const { rights } = users({ roles }).standing(user, groups);
    return "role" in rights ? rights.role : undefined;
  };

  test("a user's own role precedes --admin-user, the first matching group, and the role of everyone", () => {
    expect(roleOf("ada", ["ops"])).toBe("auditor");
    expect(roleOf("eve", ["staff"])).toBe("admin");
    expect(roleOf("bob", ["staff", "ops"])).toBe("operator");
    expect(roleOf("bob", ["staff"])).toBe("viewer");
    expect(roleOf("bob")).toBe("viewer");
    expect(users().standing("bob").rights).toEqual(OWN);
  });

  test("the server's own user and the configured user are always admins", () => {
    const lowered = users({
      roles: [
        { user: "me", role: "viewer" },
        { user: "web", role: "viewer" },
      ],
    });
    expect([lowered.standing("me").rights, lowered.standing("web").rights]).toEqual([ALL, ALL]);
  });

  test("admits the users it names, but neither everyone nor members of a group", () => {
    const named = users({ allowUsers: [], roles });
    expect(["ada", "bob", "ops", "*"].map((user) => named.mayLogIn(user))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("a user that a proxy names", () => {
  const root = { serverUser: "root", isRoot: true, configuredUser: "web", adminUsers: ["eve"] };

  test("is not admitted on a root server by the name of a system user, of root or of the configured user", () => {
    const named = users({ ...root, allowUsers: [] });
    const names = ["web", "eve", "bob", "root"];
    expect(names.map((user) => named.mayLogIn(user, "proxy"))).toEqual([false, true, false, false]);
    const open = users({ ...root, allowUsers: ["*"] });
    expect(names.map((user) => open.mayLogIn(user, "proxy"))).toEqual([false, true, true, false]);
    expect(users({ ...root, allowUsers: ["root"] }).mayLogIn("root", "proxy")).toBe(true);
  });

  test("is not admitted as the server's own user or as root by that name", () => {
    const named = { serverUser: "me", isRoot: false, configuredUser: undefined, adminUsers: [] };
    const names = ["me", "root", "ada", "bob"];
    const letIn = (...allowUsers: readonly string[]): readonly string[] =>
      names.filter((user) => users({ ...named, allowUsers }).mayLogIn(user, "proxy"));
    expect(letIn()).toEqual([]);
    expect(letIn("ada")).toEqual(["ada"]);
    expect(letIn("*")).toEqual(["ada", "bob"]);
    expect(letIn("*", "me", "root")).toEqual(names);
  });

  test("is the configured user if another proxy on this machine says so, but not if a provider does", () => {
    const named = (identity: UserNames["identity"]) =>
      users({ identity, allowUsers: ["*"] }).mayLogIn("web", "proxy");
    expect([named("local-proxy"), named("own-proxy")]).toEqual([true, false]);
  });
});
