import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RequestFacts } from "../../../src/auth/chain.ts";
import { byMachineToken } from "../../../src/auth/machine-token.ts";
import { Secret } from "../../../src/lib/secret.ts";

const TOKEN = "b5eQ0m5bq0yG9p-3v5w_fXoO2yJmY1nN8pV0t1uS2kA";
const way = byMachineToken(Secret.fromText(TOKEN), "me");
const ask = (authorization: string | undefined, more: Partial<RequestFacts> = {}) =>
  way({ authorization, queryToken: undefined, address: "10.0.0.1", place: "api", ...more });

test("the token of this start is the HQ, for the server's user, everywhere", async () => {
  for (const place of ["api", "registry", "websocket", "event-stream"] as const) {
    expect(await ask(`Bearer ${TOKEN}`, { place })).toEqual({ user: "me", method: "hq" });
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
])("%j says nothing, and is for others to judge", async (header) =>
  expect(await ask(header)).toBeUndefined(),
);

test("it counts in the header alone", async () => {
  expect(await ask(undefined, { queryToken: TOKEN, place: "websocket" })).toBeUndefined();
});

test("no other header is taken for it or makes it fail", () =>
  fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      expect(await ask(text)).toBeUndefined();
      expect(await ask(`Bearer ${text}`)).toBeUndefined();
    }),
  ));
