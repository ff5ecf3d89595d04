import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ClaimRules,
  Claims,
  mergedClaims,
  missingClaim,
  userOfClaims,
} from "../../../../src/proxy/provider/provider-answer.ts";

const SUB = "248289761001";
const ISSUER = "https://id.example.com";
const BOUND = `${ISSUER}#${SUB}`;
const RULES: ClaimRules = { nameClaim: undefined, required: new Map(), named: new Set() };

function userOf(claims: object, rules: Partial<ClaimRules> = {}): ReturnType<typeof userOfClaims> {
  return userOfClaims(Claims.parse({ sub: SUB, ...claims }), ISSUER, { ...RULES, ...rules });
}

test.each([
  [{ email: "ada@example.com", email_verified: true, preferred_username: "x" }, "ada@example.com"],
  [{ email: "ada@example.com", email_verified: "true" }, "ada@example.com"],
  [{ email: "ada@example.com" }, BOUND],
  [{ email: "ada@example.com", email_verified: false, preferred_username: "ada" }, BOUND],
  [{ email: "ada@example.com", email_verified: "yes" }, BOUND],
  [{ email: "ada@example.com", email_verified: 1 }, BOUND],
  [{ email: "root", email_verified: true }, BOUND],
  [{ preferred_username: "ada@example.com" }, BOUND],
  [{ email: 5, preferred_username: null }, BOUND],
  [{}, BOUND],
])("from %j the login is %s", (claims, login) => {
  expect(userOf(claims)?.login).toBe(login);
});

test("a subject that an option names precedes every other name", () => {
  const claims = { email: "ada@example.com", email_verified: true, upn: "ada" };
  expect(userOf(claims, { named: new Set([BOUND]) })?.login).toBe(BOUND);
  expect(userOf(claims, { named: new Set([BOUND]), nameClaim: "upn" })?.login).toBe(BOUND);
});

test("the configured claim is the login, unless it looks like issuer and subject", () => {
  expect(userOf({ upn: "ada" }, { nameClaim: "upn" })?.login).toBe("ada");
  expect(userOf({ email: "a@b.example" }, { nameClaim: "email" })?.login).toBe("a@b.example");
  expect(userOf({ upn: `${ISSUER}#1` }, { nameClaim: "upn" })?.login).toBe(BOUND);
  expect(userOf({ upn: ["root"] }, { nameClaim: "upn" })?.login).toBe(BOUND);
});

test("a required claim must have one of its values, alone or in a list", () => {
  const missing = (claims: object): string | undefined =>
    missingClaim(Claims.parse({ sub: SUB, ...claims }), { required: new Map([["tid", ["a", "b"]]]) });
  expect([{ tid: "a" }, { tid: "b" }, { tid: ["x", "b"] }].map(missing)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([{}, { tid: "c" }, { tid: [] }, { tid: { a: "a" } }].map(missing)).toEqual([
    "tid",
    "tid",
    "tid",
    "tid",
  ]);
});

test("a valid name and picture are kept", () => {
  const picture = "https://id.example.com/ada.png";
  expect(userOf({ name: "Ada\u202e \r\nLovelace", picture })).toMatchObject({
    name: "Ada Lovelace",
    picture,
  });
  expect(userOf({ name: "", picture: "javascript:alert(1)" })).toMatchObject({
    name: undefined,
    picture: undefined,
  });
  expect(userOf({ picture: "https://x.example/\r\nset-cookie: a" })).toMatchObject({ picture: undefined });
});

test("an email keeps its own verification", () => {
  const idToken = Claims.parse({ sub: SUB, email: "root@example.com", email_verified: false });
  const userInfo = Claims.parse({ sub: SUB, email: "ada@example.com", email_verified: true, name: "Ada" });
  expect(mergedClaims(idToken, userInfo)).toMatchObject({
    email: "root@example.com",
    email_verified: false,
    name: "Ada",
  });
  expect(mergedClaims(Claims.parse({ sub: SUB, email_verified: true }), userInfo).email).toBe(
    "ada@example.com",
  );
});

test("no claims lead to an invalid login", () => {
  const record = fc.record({
    email: fc.anything(),
    preferred_username: fc.string(),
    name: fc.anything(),
    picture: fc.string(),
  });
  fc.assert(
    fc.property(record, fc.string({ minLength: 1 }), (claims, sub) => {
      const user = userOf({ ...claims, sub });
      if (user === undefined) return;
      expect(user.login).toMatch(/^[^\s\p{C}]{1,256}$/u);
      expect(user.name ?? "").not.toMatch(/\p{Cc}/u);
    }),
  );
});
