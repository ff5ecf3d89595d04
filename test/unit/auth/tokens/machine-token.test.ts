import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RequestClaims } from "../../../../src/auth/chain.ts";
import { byMachineToken } from "../../../../src/auth/chain.ts";
import { ALL, OWN } from "../../../../src/auth/roles.ts";
import { usersOf } from "../../../../src/auth/users.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { BARE } from "../request-claims.ts";

const TOKEN = "b5eQ0m5bq0yG9p-3v5w_fXoO2yJmY1nN8pV0t1uS2kA";
const users = usersOf({
  ...{ serverUser: "me", isRoot: true, configuredUser: "web" },
  ...{ allowUsers: [], adminUsers: [], roles: [], identity: undefined },
});
const way = byMachineToken(Secret.fromText(TOKEN), { serverUser: "me", users });
const ask = (authorization: string | undefined, more: Partial<RequestClaims> = {}) =>
  way({ ...BARE, authorization, ...more });

test("the token of this start authenticates the HQ as the server's user, everywhere", async () => {
  for (const place of ["api", "registry", "websocket", "event-stream"] as const) {
    expect(await ask(`Bearer ${TOKEN}`, { place })).toEqual({ user: "me", method: "hq", rights: ALL });
  }
});

test.each([
  undefined,
  "Bearer",
  `Bearer ${TOKEN.slice(0, -1)}`,
  `Bearer ${TOKEN}=`,
  `Bearer ${TOKEN} x`,
  `Bearer ${TOKEN.toLowerCase()}`,
  `Basic ${TOKEN}`,
  TOKEN,
])("%j is no proof, and is left to the other ways", async (header) =>
  expect(await ask(header)).toBeUndefined(),
);

test("an HQ that names a user gets that user's rights", async () => {
  const asked = await ask(`Bearer ${TOKEN}`, { onBehalfOf: "ada" });
  expect(asked).toEqual({ user: "ada", method: "hq", rights: OWN, owner: "ada", account: "ada" });
});

test.each(["me", "web"])("an HQ's user named %s is not the server's own user", async (name) => {
  const asked = await ask(`Bearer ${TOKEN}`, { onBehalfOf: name });
  expect(asked).toEqual({ user: name, method: "hq", rights: OWN, owner: name, account: name });
});

test("the header Ttyhq-On-Behalf-Of of other callers is ignored", async () => {
  expect(await ask("Bearer other", { onBehalfOf: "me" })).toBeUndefined();
});

test("the token counts only in the header", async () => {
  expect(await ask(undefined, { queryToken: TOKEN, place: "websocket" })).toBeUndefined();
});

test("every other header is ignored", () =>
  fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      expect(await ask(text)).toBeUndefined();
      expect(await ask(`Bearer ${text}`)).toBeUndefined();
    }),
  ));
