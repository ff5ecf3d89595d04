import { createHmac } from "node:crypto";
import { mkdir, mkdtempDisposable, rename, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AccessTokens } from "../../../../src/auth/tokens/access-token.ts";
import { openFileRecords } from "../../../../src/auth/tokens/file-records.ts";
import { LoginRecords } from "../../../../src/auth/tokens/login-records.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { MAX_LOGINS_PER_USER } from "../../../../src/protocol/limits.ts";

const SECRET = "a secret of more than thirty-two bytes";
const START_MS = Date.UTC(2026, 0, 1);
const START_S = START_MS / 1000;
const INSTANCE = "0e3b1bd7-9a54-4e7b-8c0c-3b6f5a0a8f10";
const CLAIMS = {
  ...{ sub: "ada", iat: START_S, exp: START_S + 86_400 },
  ...{ jti: "id-1", iss: "ttyhq", aud: INSTANCE },
};
/** The login of CLAIMS. */
const KNOWN = {
  ...{ id: "id-1", kind: "login", expiresAtS: CLAIMS.exp },
  value: { user: "ada", method: "password", createdAt: "2026-01-01T00:00:00.000Z" },
};
const HERE = { address: "10.0.0.1" };

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token that this test signs itself, so that verification is not tested with our own signing. */
function forge(
  claims: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  secret = SECRET,
  hash = "sha256",
) {
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest("base64url")}`;
}

/** Knows one login. */
async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-token-"));
  const clock = { ms: START_MS };
  const path = join(directory.path, "logins.json");
  await writeFile(path, JSON.stringify({ version: 1, instance: INSTANCE, records: [KNOWN] }));
  const warnings: string[] = [];
  const log = { warn: (_: unknown, message: string) => void warnings.push(message) };
  const writes: Promise<void>[] = [];
  const store = (write: () => Promise<void>): Promise<void> => {
    const written = write();
    writes.push(written);
    return written;
  };
  /** Resolves after the last write, including writes that no call waits for. */
  const stored = async (): Promise<void> => {
    let before: number;
    do {
      before = writes.length;
      await Promise.allSettled(writes);
      await nextTurn();
    } while (writes.length > before);
  };
  const open = async (secret = SECRET) => {
    const now = () => clock.ms;
    const records = await openFileRecords({ path, now, log, store });
    const logins = new LoginRecords({ records, now, log });
    return new AccessTokens({ secret: Secret.fromText(secret), records, logins, now });
  };
  const dispose = async (): Promise<void> => {
    await stored();
    await directory.remove();
  };
  return { clock, path, warnings, open, [Symbol.asyncDispose]: dispose };
}

test.each(["", "{", '{"version":2}', '{"version":1,"instance":"x","records":[]}'])(
  "with a list of logins that contains %j earlier tokens are refused, and the log says so",
  async (text) => {
    await using place = await scratch();
    const before = await (await place.open()).issue("ada", "password", HERE);
    await writeFile(place.path, text);
    const tokens = await place.open();
    expect(place.warnings).toEqual(["list of logins is damaged: everyone has to log in again"]);
    await expect(tokens.verify(before.token)).rejects.toThrow("invalid token");
    const after = await tokens.issue("ada", "password", HERE);
    for (const at of [tokens, await place.open()]) expect((await at.verify(after.token)).user).toBe("ada");
  },
);

test("without a list of logins that can be read nothing starts, and nobody is logged out", async () => {
  await using place = await scratch();
  const before = await (await place.open()).issue("ada", "password", HERE);
  const kept = `${place.path}.kept`;
  await rename(place.path, kept);
  await mkdir(place.path);
  await expect(place.open()).rejects.toMatchObject({ code: "EISDIR" });
  await rmdir(place.path);
  await rename(kept, place.path);
  expect((await (await place.open()).verify(before.token)).user).toBe("ada");
});

test("a token of another server with the same secret is refused, and so is one without an audience", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  for (const aud of ["7c3a4f43-23ab-4bd7-9c8d-0f5a2d0a6b11", undefined]) {
    await expect(tokens.verify(forge({ ...CLAIMS, aud }))).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("a correctly signed token without a record is refused", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  await expect(tokens.verify(forge({ ...CLAIMS, jti: "another" }))).rejects.toThrow("login is over");
});

test("over a user's limit that user's oldest login ends, and no other", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const other = await tokens.issue("bob", "password", HERE);
  const first = (await tokens.issue("eve", "password", HERE)).token;
  place.clock.ms += 1_000;
  const second = (await tokens.issue("eve", "password", HERE)).token;
  place.clock.ms += 1_000;
  for (let count = 2; count <= MAX_LOGINS_PER_USER; count++) await tokens.issue("eve", "password", HERE);
  await expect(tokens.verify(first)).rejects.toThrow("login is over");
  for (const token of [second, other.token]) expect((await tokens.verify(token)).method).toBe("token");
});

test("a remote's credential names it for 20 minutes and logs nobody in", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const { token, expiresIn } = tokens.issueRemote({ id: "id-1", name: "build-1" });
  expect(expiresIn).toBe(1_200);
  const rights = { kind: "remote", id: "id-1", name: "build-1" };
  expect(await tokens.verify(token)).toMatchObject({ user: "remote:build-1", method: "remote", rights });
  place.clock.ms += 1_200_000;
  await expect(tokens.verify(token)).rejects.toThrow("expired");
});

test("a token names its user for exactly 24 hours", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const { token, expiresIn, user } = await tokens.issue("ada", "password", HERE);
  expect({ expiresIn, user }).toEqual({ expiresIn: 86_400, user: "ada" });
  place.clock.ms += 86_399_000;
  expect(await tokens.verify(token)).toMatchObject({
    user: "ada",
    method: "token",
    expiresAtMs: START_MS + 86_400_000,
  });
  place.clock.ms += 1000;
  await expect(tokens.verify(token)).rejects.toThrow("token expired: log in again");
});

test("the claims are those of the contract", async () => {
  await using place = await scratch();
  const [header = "", claims = ""] = (await (await place.open()).issue("ada", "password", HERE)).token.split(
    ".",
  );
  const decode = (text: string): unknown => JSON.parse(Buffer.from(text, "base64url").toString());
  expect(decode(header)).toEqual({ alg: "HS256", typ: "JWT" });
  expect(decode(claims)).toEqual({ ...CLAIMS, jti: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});

test("a token of another signer is valid with the same secret and an existing login, and refused with another secret", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  expect((await tokens.verify(forge(CLAIMS))).user).toBe("ada");
  await expect(
    tokens.verify(forge(CLAIMS, undefined, "another secret of thirty-two bytes..")),
  ).rejects.toThrow("invalid token");
});

test.each([
  ["no algorithm", () => `${part({ alg: "none", typ: "JWT" })}.${part(CLAIMS)}.`],
  ["no algorithm and some signature", () => `${part({ alg: "none" })}.${part(CLAIMS)}.AAAA`],
  ["another algorithm", () => forge(CLAIMS, { alg: "HS512", typ: "JWT" }, SECRET, "sha512")],
  ["another issuer", () => forge({ ...CLAIMS, iss: "other" })],
  ["no server", () => forge({ ...CLAIMS, aud: undefined })],
  ["no issuer", () => forge({ ...CLAIMS, iss: undefined })],
  ["no end", () => forge({ ...CLAIMS, exp: undefined })],
  ["an end that is text", () => forge({ ...CLAIMS, exp: "tomorrow" })],
  ["an end too far off", () => forge({ ...CLAIMS, exp: START_S + 86_401 })],
  ["no start", () => forge({ ...CLAIMS, iat: undefined })],
  ["no user", () => forge({ ...CLAIMS, sub: "" })],
  ["a user that is no text", () => forge({ ...CLAIMS, sub: { a: 1 } })],
  ["no id", () => forge({ ...CLAIMS, jti: undefined })],
  ["claims that are a text", () => forge("ada")],
  ["claims that are null", () => forge(null)],
  ["a start in the future that it insists on", () => forge({ ...CLAIMS, nbf: START_S + 60 })],
  ["nothing", () => ""],
  ["no signature", () => forge(CLAIMS).replace(/[^.]*$/, "")],
  ["a newline at the end", () => `${forge(CLAIMS)}\n`],
  ["100,000 letters", () => `${"a".repeat(100_000)}.b.c`],
])("a token with %s is unauthorized", async (_, make) => {
  await using place = await scratch();
  const tokens = await place.open();
  const error = await Promise.resolve(make())
    .then((token) => tokens.verify(token))
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({ code: "unauthorized" });
});

test("only the revoked token is refused, at once and after a restart", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const [{ token: mine }, { token: other }] = [
    await tokens.issue("ada", "password", HERE),
    await tokens.issue("ada", "password", HERE),
  ];
  const principal = await tokens.verify(mine);
  const revoking = tokens.revoke(principal);
  await expect(tokens.verify(mine)).rejects.toThrow("login is over: log in again");
  expect(await tokens.isCurrent(principal)).toBe(false);
  await revoking;
  const restarted = await place.open();
  await expect(restarted.verify(mine)).rejects.toThrow("login is over");
  expect((await restarted.verify(other)).user).toBe("ada");
});

test("a principal without a token is always current and has nothing to revoke", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  await tokens.revoke({});
  place.clock.ms += 1e12;
  expect(await tokens.isCurrent({})).toBe(true);
});

test("a watcher of a token is called once when it is revoked", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const principal = await given(tokens);
  const heard: string[] = [];
  using _watch = tokens.whenOver(principal, (reason) => heard.push(reason));
  await tokens.revoke(await given(tokens));
  expect(heard).toEqual([]);
  await tokens.revoke(principal);
  await tokens.revoke(principal);
  expect(heard).toEqual(["logged out"]);
});

test("a watcher of a token is called when it expires", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const principal = await given(tokens);
  place.clock.ms += 86_400_000 - 5;
  const heard = Promise.withResolvers<string>();
  using _watch = tokens.whenOver(principal, heard.resolve);
  expect(await heard.promise).toBe("login expired");
});

test("a watcher is also called for a token that had already ended", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const principal = await given(tokens);
  await tokens.revoke(principal);
  const heard = Promise.withResolvers<string>();
  using _watch = tokens.whenOver(principal, heard.resolve);
  expect(await heard.promise).toBe("logged out");
});

test("a disposed watcher is not called, nor is one of a login without a token", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const principal = await given(tokens);
  place.clock.ms += 86_400_000 - 1;
  const heard: string[] = [];
  tokens.whenOver(principal, (reason) => heard.push(reason))[Symbol.dispose]();
  using _none = tokens.whenOver({}, (reason) => heard.push(reason));
  const ended = Promise.withResolvers<string>();
  using _hook = tokens.whenOver(principal, ended.resolve);
  expect(await ended.promise).toBe("login expired");
  await tokens.revoke(principal);
  expect(heard).toEqual([]);
});

test("a token changed at any one byte is refused with a ServiceError", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const { token } = await tokens.issue("ada", "password", HERE);
  for (let at = 0; at < token.length; at++) {
    for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
      const changed = String.fromCharCode(token.charCodeAt(at) ^ bit);
      expect(await outcome(tokens, token.slice(0, at) + changed + token.slice(at + 1))).toBe("unauthorized");
    }
    expect(await outcome(tokens, token.slice(0, at))).toBe("unauthorized");
    expect(await outcome(tokens, token.slice(0, at) + token.slice(at + 1))).toBe("unauthorized");
  }
});

test("every text but a token of ours is refused with a ServiceError", async () => {
  await using place = await scratch();
  const tokens = await place.open();
  const json = fc.jsonValue().map(part);
  const shaped = fc
    .tuple(fc.oneof(json, fc.constant(part({ alg: "HS256" }))), json, fc.base64String())
    .map((all) => all.join("."));
  const signed = fc.jsonValue().map((claims) => forge(claims));
  const header = fc.jsonValue().map((value) => forge(CLAIMS, { alg: "HS512", typ: value }, SECRET, "sha512"));
  return fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string(), fc.string({ unit: "binary" }), shaped, signed, header),
      async (text) => {
        expect(await outcome(tokens, text)).toBe("unauthorized");
      },
    ),
    { numRuns: 3_000 },
  );
});

/** A user who just logged in. */
async function given(tokens: AccessTokens) {
  const { token } = await tokens.issue("ada", "password", HERE);
  return await tokens.verify(token);
}

async function outcome(tokens: AccessTokens, token: string): Promise<string> {
  try {
    return `accepted ${(await tokens.verify(token)).user}`;
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}
