import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Seal } from "../../../../src/lib/seal.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { PROXY_LOGIN_TIMEOUT_MS } from "../../../../src/protocol/limits.ts";
import { PendingLogins } from "../../../../src/proxy/provider/pending-login.ts";

function logins() {
  const clock = { ms: 1_800_000_000_000 };
  const seal = new Seal(new Secret(randomBytes(32)));
  return { clock, logins: new PendingLogins(seal, () => clock.ms) };
}

test("a sealed login is opened unchanged until it expires", () => {
  const { clock, logins: begun } = logins();
  const login = begun.begin("/a?b");
  const sealed = begun.seal(login);
  expect(begun.open(sealed)).toEqual(login);
  expect(sealed).not.toContain(login.codeVerifier);
  clock.ms += PROXY_LOGIN_TIMEOUT_MS;
  expect(begun.open(sealed)).toBeUndefined();
});

test("every login has its own state, nonce and verifier", () => {
  const { logins: begun } = logins();
  const all = [begun.begin("/"), begun.begin("/")].flatMap(({ state, nonce, codeVerifier }) => [
    state,
    nonce,
    codeVerifier,
  ]);
  expect(new Set(all).size).toBe(6);
});

test("a login that was changed or sealed with another secret is rejected", () => {
  const { logins: begun } = logins();
  const sealed = begun.seal(begun.begin("/"));
  expect(logins().logins.open(sealed)).toBeUndefined();
  const bytes = Buffer.from(sealed, "base64url");
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(begun.open(changed.toString("base64url"))).toBeUndefined();
    expect(begun.open(bytes.subarray(0, index).toString("base64url"))).toBeUndefined();
  }
  fc.assert(fc.property(fc.string(), (text) => begun.open(text) === undefined));
});
