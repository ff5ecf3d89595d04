import { expect, test } from "vitest";
import { parseRoute, routeHash, secretsIn, sessionRoute } from "../../../../src/web/app/route.ts";

test("every view has an address that leads back to it", () => {
  const session = sessionRoute("A_b-9");
  expect(routeHash(session)).toBe("#/s/A_b-9");
  const plain = (["list", "new", "previews", "machines", "audit", "account"] as const).map((view) => ({
    view,
  }));
  const repository = { view: "worktrees", id: "A_b-9" } as const;
  for (const route of [...plain, repository, session, sessionRoute("A_b-9", 12.5)]) {
    expect(parseRoute(routeHash(route))).toEqual(route);
  }
});

test("an invalid address shows the list", () => {
  for (const hash of [
    "",
    "#",
    "#/",
    "#/s/",
    "#/s/..",
    "#/s/a/b",
    `#/s/${"x".repeat(65)}`,
    "#/s/a?t=-1",
    "#/s/a?t=x",
    "#/nowhere",
    "#/worktrees",
    "#/worktrees/a/b",
  ]) {
    expect(parseRoute(hash)).toEqual({ view: "list" });
  }
});

test("credentials are read from a link, and only there", () => {
  expect(secretsIn("#login=aB3_-x")).toEqual({ ticket: "aB3_-x" });
  expect(secretsIn("#share=aa.bb.c-_")).toEqual({ share: "aa.bb.c-_" });
  for (const hash of ["#login=", "#/login=abc", "#login=a b", "#/s/login", "#share=", "#x=share=a"])
    expect(secretsIn(hash)).toEqual({});
});
