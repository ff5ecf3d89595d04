import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import type { Principal } from "../../../../src/auth/principal.ts";
import { ALL } from "../../../../src/auth/roles.ts";
import { createRateLimit } from "../../../../src/http/limits/rate-limit.ts";

const address = "10.0.0.1";

/** How many of so many calls are let through. */
async function letThrough(calls: number, principal: Principal): Promise<number> {
  const limit = createRateLimit(2);
  let passed = 0;
  for (let count = 0; count < calls; count++) {
    const request = new IncomingMessage(new Socket());
    await limit(request, new ServerResponse(request), { principal, address }).then(
      () => passed++,
      () => undefined,
    );
  }
  return passed;
}

test.each([
  ["token", 2],
  ["basic", 2],
  ["none", 2],
  ["socket", 5],
  ["hq", 5],
] as const)("of five calls by %s, %i pass a limit of two", async (method, passed) => {
  expect(await letThrough(5, { user: "me", method, rights: ALL })).toBe(passed);
});
