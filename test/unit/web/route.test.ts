import { expect, test } from "vitest";
import { loginTicket, parseRoute, routeHash } from "../../../src/web/route.ts";

test("every view has an address that leads back to it", () => {
  for (const route of [{ view: "list" }, { view: "new" }, { view: "session", id: "A_b-9" }] as const) {
    expect(parseRoute(routeHash(route))).toEqual(route);
  }
});

test("an address that means nothing is the list", () => {
  for (const hash of ["", "#", "#/", "#/s/", "#/s/..", "#/s/a/b", `#/s/${"x".repeat(65)}`, "#/nowhere"]) {
    expect(parseRoute(hash)).toEqual({ view: "list" });
  }
});

test("a login link's ticket is found, and only there", () => {
  expect(loginTicket("#login=aB3_-x")).toBe("aB3_-x");
  for (const hash of ["#login=", "#/login=abc", "#login=a b", "#/s/login"])
    expect(loginTicket(hash)).toBeUndefined();
});
