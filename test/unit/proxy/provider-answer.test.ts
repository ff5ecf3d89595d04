import fc from "fast-check";
import { expect, test } from "vitest";
import { Claims, mergedClaims, userOfClaims } from "../../../src/proxy/provider-answer.ts";

const SUB = "248289761001";

function loginOf(claims: object): string | undefined {
  return userOfClaims(Claims.parse({ sub: SUB, ...claims }))?.login;
}

test.each([
  [{ email: "ada@example.com", email_verified: true, preferred_username: "ada" }, "ada@example.com"],
  [{ email: "ada@example.com", preferred_username: "ada" }, "ada@example.com"],
  [{ email: "ada@example.com", email_verified: "true" }, "ada@example.com"],
  [{ email: "ada@example.com", email_verified: false, preferred_username: "ada" }, "ada"],
  [{ email: "ada@example.com", email_verified: "false", preferred_username: "ada" }, "ada"],
  [{ email: "ada@example.com", email_verified: "who knows", preferred_username: "ada" }, "ada"],
  // Somebody who writes another's address into both.
  [{ email: "root@example.com", email_verified: false, preferred_username: "root@example.com" }, SUB],
  [{ preferred_username: "ada" }, "ada"],
  [{ preferred_username: "ada@corp.example" }, "ada@corp.example"],
  [{ preferred_username: "two words" }, SUB],
  [{ email: 5, preferred_username: null }, SUB],
  [{}, SUB],
])("of %j the login is %s", (claims, login) => {
  expect(loginOf(claims)).toBe(login);
});

test("a name and a picture come along, unless they are odd", () => {
  const picture = "https://id.example.com/ada.png";
  const user = (claims: object) => userOfClaims(Claims.parse({ sub: SUB, ...claims }));
  expect(user({ name: "Ada\u202e \r\nLovelace", picture })).toMatchObject({ name: "Ada Lovelace", picture });
  expect(user({ name: "", picture: "javascript:alert(1)" })).toMatchObject({
    name: undefined,
    picture: undefined,
  });
  expect(user({ picture: "https://x.example/\r\nset-cookie: a" })).toMatchObject({ picture: undefined });
});

test("an address comes with its own verification, not with that of another one", () => {
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

test("whatever a provider says, a login has nothing odd in it", () => {
  const record = fc.record({
    email: fc.anything(),
    preferred_username: fc.string(),
    name: fc.anything(),
    picture: fc.string(),
  });
  fc.assert(
    fc.property(record, fc.string({ minLength: 1 }), (claims, sub) => {
      const user = userOfClaims(Claims.parse({ ...claims, sub }));
      if (user === undefined) return;
      expect(user.login).toMatch(/^[^\s\p{C}]{1,256}$/u);
      expect(user.name ?? "").not.toMatch(/\p{Cc}/u);
    }),
  );
});
