import { expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import { nameOf } from "../../../src/http/routes/repository-routes.ts";

test("notifications of the server itself belong to no user, even of the same name", () => {
  const server: Principal = { user: "me", method: "token", rights: ALL };
  const namesake: Principal = { user: "me", method: "hq", rights: OWN, owner: "me" };
  expect(nameOf(namesake)).toBe("me");
  expect(nameOf(server)).not.toBe(nameOf(namesake));
});
