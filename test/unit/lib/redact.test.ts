import { inspect } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { redact, scrub } from "../../../src/lib/redact.ts";
import { Secret } from "../../../src/lib/secret.ts";

const HIDDEN = "hunter2-S3cret";
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";

test.each([
  "password",
  "Password",
  "SERVICE_PASSWORD",
  "authorization",
  "Proxy-Authorization",
  "cookie",
  "Set-Cookie",
  "token",
  "access_token",
  "accessToken",
  "queryToken",
  "ticket",
  "jwtSecret",
  "jwt",
  "clientSecret",
  "credentials",
  "api-key",
])("a member called %s is redacted, however deep", (name) => {
  const logged = JSON.stringify(redact({ [name]: HIDDEN, a: { b: [{ [name]: { c: HIDDEN } }] } }));
  expect(logged).not.toContain(HIDDEN);
});

test.each(["tokenId", "tokens", "user", "url", "secretary"])("a member called %s is kept", (name) => {
  expect(redact({ [name]: "value" })).toEqual({ [name]: "value" });
});

test.each([
  `/ws?token=${HIDDEN}&x=1`,
  `http://host/#login=${HIDDEN}`,
  `GET /api/stream?a=1&ticket=${HIDDEN}`,
  `Authorization: Bearer ${HIDDEN}`,
  `basic ${HIDDEN}==`,
  `https://admin:${HIDDEN}@hq.example/x`,
])("a secret inside a string is redacted: %s", (text) => {
  expect(scrub(text)).not.toContain(HIDDEN);
});

test("a JWT is redacted wherever it stands", () => {
  expect(scrub(`got ${JWT} from a client`)).toBe("got [redacted] from a client");
  for (const before of ["a.", "a-", "-", "eyJ-", "é", "-eyJaaaaa "])
    expect(scrub(`${before}${JWT}`)).not.toContain("c2lnbmF0dXJl");
});

test("an error keeps its message, code and causes, without the secrets in them", () => {
  const cause = new Error(`refused Bearer ${HIDDEN}`);
  const error = Object.assign(new Error("upstream failed", { cause }), {
    code: "ECONNREFUSED",
    token: HIDDEN,
  });
  const logged = redact({ error });
  expect(logged).toMatchObject({
    error: { message: "upstream failed", code: "ECONNREFUSED", cause: { type: "Error" } },
  });
  expect(JSON.stringify(logged)).not.toContain(HIDDEN);
});

test("bytes are counted, not shown", () => {
  expect(redact({ chunk: new TextEncoder().encode("ls -l") })).toEqual({ chunk: "[5 bytes]" });
});

test("circular, huge and throwing values are logged in part", () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const hostile = {
    get trap(): never {
      throw new Error("no");
    },
  };
  const logged = redact({
    circle,
    huge: Array.from({ length: 100_000 }, () => "x"),
    text: "y".repeat(1e6),
    hostile,
  });
  expect(JSON.stringify(logged).length).toBeLessThan(20_000);
});

test("redacting never throws, and its result can be written as JSON", () => {
  return fc.assert(
    fc.property(
      fc.dictionary(
        fc.string(),
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true }),
      ),
      (fields) => {
        JSON.stringify(redact(fields));
      },
    ),
  );
});

test("crafted texts are not slow to search", () => {
  const startedAt = performance.now();
  for (const text of ["?a", "a.", "eyJ-", "a://", "bearer ", "?token"]) scrub(text.repeat(200_000));
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});

test("a list of crafted texts, such as the words of a command, is not slow to search", () => {
  const startedAt = performance.now();
  for (const text of ["eyJ-", "-eyJaaaaa", "-eyJaaaaa.", "eyJaaaaa."])
    redact({ command: Array.from({ length: 500 }, () => text.repeat(3_000)) });
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});

test("a secret does not show when printed, inspected or written as JSON", () => {
  const secret = Secret.fromText(HIDDEN);
  for (const shown of [
    `${secret}`,
    inspect({ secret }),
    JSON.stringify({ secret }),
    JSON.stringify(redact({ a: secret })),
  ]) {
    expect(shown).not.toContain(HIDDEN);
  }
  expect(new TextDecoder().decode(secret.bytes())).toBe(HIDDEN);
});

test("a secret at the end of a text that is cut is replaced as well", () => {
  const secrets = [
    `redis://ttyhq:${HIDDEN}@host`,
    `?token=${HIDDEN}`,
    `Bearer ${HIDDEN}`,
    `Basic ${Buffer.from(`u:${HIDDEN}`).toString("base64")}`,
    JWT,
  ];
  for (const secret of secrets) {
    for (let length = 4_000; length < 4_100; length++) {
      const kept = scrub(`${"-".repeat(length)} ${secret}`);
      expect(kept.length).toBeLessThanOrEqual(4_097);
      for (const part of [HIDDEN.slice(0, 6), "c2lnbm", "OmhpbnRlcj", "eyJzdW"])
        expect(kept).not.toContain(part);
    }
  }
});
