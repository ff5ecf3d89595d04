// The picture of a user, which the page shows before the login (contract 5.11).
import { userInfo } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "./harness/http.ts";
import { passwordServer } from "./harness/password-server.ts";
import type { TestServer } from "./harness/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await passwordServer("inline");
});
afterAll(() => server[Symbol.asyncDispose]());

const avatar = (userId: string, headers = {}) => ask(server.url, `/api/auth/avatar/${userId}`, { headers });

test("without a login every user has the same picture, which is cacheable and runs nothing", async () => {
  const own = await avatar(userInfo().username);
  const others = ["ada", "no.such-user_1", "ada.lovelace+work@example.com"];
  for (const answer of [own, ...(await Promise.all(others.map((name) => avatar(name))))]) {
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(own.text);
    expect(answer.headers).toMatchObject({
      "content-type": "image/svg+xml",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "cache-control": "public, max-age=86400",
      vary: "accept",
    });
  }
  expect(own.text).toMatch(/^<svg .*<\/svg>\n$/);
});

test("as JSON it is what old clients know", async () => {
  const { json, headers } = await avatar("ada", { accept: "application/json" });
  expect(json).toEqual({ avatar: null, platform: process.platform });
  expect(headers).toMatchObject({ "content-type": "application/json; charset=utf-8", vary: "accept" });
});

test.each([
  ["%2e%2e%2f%2e%2e%2fetc%2fpasswd", "Invalid user ID format"],
  ["a%00b", "Invalid user ID format"],
  ["%3Csvg%3E", "Invalid user ID format"],
  ["a%20b", "Invalid user ID format"],
  ["x".repeat(256), "User ID too long"],
])("%s is refused in the old words", async (userId, error) => {
  expect(await avatar(userId)).toMatchObject({
    status: 400,
    json: { error, code: "invalid_request", details: {} },
  });
});
