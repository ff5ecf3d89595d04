import * as fc from "fast-check";
import { expect, test } from "vitest";
import { configuredPassword } from "../../../../src/auth/password/password-login.ts";
import { Secret } from "../../../../src/lib/secret.ts";

const check = configuredPassword({ username: "admin", password: Secret.fromText("pässword") });

test("the configured pair logs in", async () => {
  expect(await check({ username: "admin", password: "pässword" })).toBe("admin");
});

test("a wrong password and an unknown user get the same message", async () => {
  const attempts = [
    { username: "admin", password: "wrong" },
    { username: "nobody", password: "pässword" },
    { username: "nobody", password: "wrong" },
    { username: "admin", password: "" },
    { username: "", password: "" },
    { username: "Admin", password: "pässword" },
    { username: "admin", password: "pa\u0308ssword" },
    { username: "admin", password: "pässword\0" },
    { username: "x".repeat(1e6), password: "y".repeat(1e6) },
  ];
  for (const attempt of attempts) {
    await expect(check(attempt)).rejects.toMatchObject({
      code: "invalid_credentials",
      message: "wrong user name or password",
      details: {},
    });
  }
});

test("every other pair gets the same refusal", () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary" }),
      async (username, password) => {
        await expect(check({ username, password })).rejects.toMatchObject({ code: "invalid_credentials" });
      },
    ),
  ));
