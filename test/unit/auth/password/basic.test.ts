import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RequestClaims } from "../../../../src/auth/chain.ts";
import { LoginAttempts } from "../../../../src/auth/password/attempts.ts";
import { basicPair, byBasic } from "../../../../src/auth/password/basic.ts";
import { ALL } from "../../../../src/auth/roles.ts";
import { Tally } from "../../../../src/lib/data/tally.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { BARE } from "../request-claims.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const basic = (pair: string | Uint8Array) => `Basic ${Buffer.from(pair).toString("base64")}`;
const refused = { code: "unauthorized" };
const PASSWORD = "pä:ss word";

function hq() {
  const clock = { ms: 1_000_000 };
  const warnings: object[] = [];
  const way = byBasic({
    credentials: { username: "fleet", password: Secret.fromText(PASSWORD) },
    attempts: new LoginAttempts(() => clock.ms),
    logins: new Tally<"method" | "result">("method", "result"),
    log: { warn: (fields: object) => void warnings.push(fields) },
  });
  const ask = (authorization: string | undefined, more: Partial<RequestClaims> = {}) =>
    way({ ...BARE, authorization, ...more });
  return { clock, warnings, ask };
}

test("the HQ's pair authenticates its user, everywhere", async () => {
  const { ask, warnings } = hq();
  for (const place of ["api", "registry", "websocket", "event-stream"] as const) {
    const principal = await ask(basic(`fleet:${PASSWORD}`), { place });
    expect(principal).toEqual({ user: "fleet", method: "basic", rights: ALL });
  }
  expect(await ask(basic(`fleet:${PASSWORD}`).replace("Basic", "bASIC "))).toMatchObject({ user: "fleet" });
  expect(warnings).toEqual([]);
});

test("a pair that is wrong in any part is refused, and logged without the pair", async () => {
  const { ask, warnings } = hq();
  const pairs = ["fleet:wrong", `other:${PASSWORD}`, "fleet:", `:${PASSWORD}`, ":", `Fleet:${PASSWORD}`];
  for (const pair of pairs) await expect(ask(basic(pair))).rejects.toMatchObject(refused);
  expect(warnings).toEqual(pairs.map(() => ({ method: "basic", address: "10.0.0.1" })));
});

test.each([undefined, "", "Bearer abc", "Basics abc", "Negotiate"])(
  "%j is left to the other ways",
  async (header) => {
    expect(await hq().ask(header)).toBeUndefined();
  },
);

test.each([
  "Basic",
  "Basic ",
  "Basic é",
  "Basic a b",
  "Basic ====",
  "Basic Zg==x",
  basic("no colon"),
  basic(""),
])("%j is malformed", async (header) => {
  await expect(hq().ask(header)).rejects.toMatchObject({
    ...refused,
    message: "malformed Authorization header",
  });
});

test("after ten wrong pairs in a minute an address is refused unchecked, even with the right pair", async () => {
  const { ask, clock } = hq();
  const wrong = () => ask(basic(`user${clock.ms++}:x`));
  for (let count = 0; count < 10; count++) await expect(wrong()).rejects.toMatchObject(refused);
  await expect(ask(basic(`fleet:${PASSWORD}`))).rejects.toMatchObject({ code: "rate_limited" });
  expect(await ask(basic(`fleet:${PASSWORD}`), { address: "10.0.0.2" })).toMatchObject({ user: "fleet" });
});

test("guesses at the HQ's pair do not lock out a remote that has registered before", async () => {
  const { ask, clock } = hq();
  const right = (address: string) => ask(basic(`fleet:${PASSWORD}`), { address });
  await right("10.0.1.1");
  for (let minute = 0; minute < 59; minute++) {
    clock.ms += 200_000;
    for (let guess = 0; guess < 10; guess++) {
      await expect(ask(basic("fleet:guess"), { address: `10.9.${minute}.${guess}` })).rejects.toMatchObject(
        refused,
      );
    }
    await expect(right("10.0.2.2")).rejects.toMatchObject({ code: "rate_limited" });
    expect(await right("10.0.1.1")).toMatchObject({ user: "fleet" });
  }
});

test("a thousand remotes may register at the same moment from one address", async () => {
  const { ask } = hq();
  const all = Array.from({ length: 1_000 }, () => ask(basic(`fleet:${PASSWORD}`)));
  expect(new Set(await Promise.all(all)).size).toBe(1_000);
});

test("every pair is decoded as sent, including passwords that are not UTF-8", () =>
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.uint8Array(), (name, password) => {
      const username = bytes(name.replaceAll(":", ""));
      const header = basic(Buffer.concat([username, bytes(":"), password]));
      expect(basicPair(header)).toEqual({ username, password });
    }),
  ));

test("every header but the right one is ignored or refused", async () => {
  const { ask, clock } = hq();
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.base64String());
  const header = fc.oneof(
    text,
    text.map((rest) => `Basic ${rest}`),
    text.map((rest) => basic(rest)),
    text.map((rest) => basic(`fleet:${rest}`)),
    text.map((rest) => basic(`${rest}:${PASSWORD}`)),
  );
  await fc.assert(
    fc.asyncProperty(header, async (value) => {
      clock.ms += 200_000;
      try {
        expect(await ask(value)).toBeUndefined();
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        expect(error.code).toBe("unauthorized");
      }
    }),
    { numRuns: 5_000 },
  );
});
