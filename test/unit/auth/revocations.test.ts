import { mkdir, mkdtempDisposable, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Revocations } from "../../../src/auth/revocations.ts";
import { MAX_REVOKED_TOKENS } from "../../../src/protocol/limits.ts";

const NOW_S = 1_800_000_000;

async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-revoked-"));
  const path = join(directory.path, "revoked.json");
  const clock = { s: NOW_S };
  const warnings: string[] = [];
  const log = { warn: (_: unknown, message: string) => void warnings.push(message) };
  const open = () => Revocations.open({ path, now: () => clock.s * 1000, log });
  return { path, clock, warnings, open, [Symbol.asyncDispose]: () => directory.remove() };
}

test("what is revoked stays so after a restart, in a file of its owner alone", async () => {
  await using place = await scratch();
  await (await place.open()).add({ id: "a", expiresAtS: NOW_S + 10 });
  const restarted = await place.open();
  expect(restarted.has({ id: "a", expiresAtS: NOW_S + 10 })).toBe(true);
  expect(restarted.has({ id: "b", expiresAtS: NOW_S + 10 })).toBe(false);
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
  expect(place.warnings).toEqual([]);
});

test("many revoked at once are all on disk", async () => {
  await using place = await scratch();
  const revocations = await place.open();
  const tokens = Array.from({ length: 50 }, (_, index) => ({ id: `t${index}`, expiresAtS: NOW_S + 10 }));
  await Promise.all(tokens.map((token) => revocations.add(token)));
  const restarted = await place.open();
  expect(tokens.filter((token) => !restarted.has(token))).toEqual([]);
});

test("an expired token is forgotten", async () => {
  await using place = await scratch();
  const revocations = await place.open();
  await revocations.add({ id: "old", expiresAtS: NOW_S + 10 });
  place.clock.s += 11;
  await revocations.add({ id: "new", expiresAtS: NOW_S + 100 });
  expect(await readFile(place.path, "utf8")).not.toContain("old");
});

test("beyond the bound a revoked token does not come back: older tokens are refused with it", async () => {
  await using place = await scratch();
  const tokens = Array.from({ length: MAX_REVOKED_TOKENS }, (_, index) => [`t${index}`, NOW_S + 100 + index]);
  await writeFile(place.path, JSON.stringify({ version: 1, refusedUpToS: 0, tokens }));
  const revocations = await place.open();
  const first = { id: "t0", expiresAtS: NOW_S + 100 };
  await revocations.add({ id: "one more", expiresAtS: NOW_S + 99_999 });
  expect(revocations.has(first)).toBe(true);
  expect(revocations.has({ id: "an older one", expiresAtS: NOW_S + 100 })).toBe(true);
  expect(revocations.has({ id: "a younger one", expiresAtS: NOW_S + 101 })).toBe(false);
  expect((await place.open()).has(first)).toBe(true);
});

test.each(["", "{", '{"version":2}', '{"version":1,"refusedUpToS":0,"tokens":[["a"]]}'])(
  "a list that holds %j lets no token in that was issued before, and says so",
  async (text) => {
    await using place = await scratch();
    await writeFile(place.path, text);
    const revocations = await place.open();
    expect(place.warnings).toEqual(["list of revoked tokens is unreadable: everyone has to log in again"]);
    expect(revocations.has({ id: "before", expiresAtS: NOW_S - 1 + 86_400 })).toBe(true);
    expect(revocations.has({ id: "since", expiresAtS: NOW_S + 86_400 })).toBe(false);
    const restarted = await place.open();
    expect(restarted.has({ id: "before", expiresAtS: NOW_S - 1 + 86_400 })).toBe(true);
    // Nor that of a share link, which expires a month later.
    const link = { id: "link", expiresAtS: NOW_S + 30 * 86_400 };
    expect(restarted.has({ ...link, issuedAtS: NOW_S - 1 })).toBe(true);
    expect(restarted.has({ ...link, issuedAtS: NOW_S })).toBe(false);
    expect(place.warnings).toHaveLength(1);
  },
);

test("a token that cannot be written down is revoked all the same, and the caller is told", async () => {
  await using place = await scratch();
  const revocations = await place.open();
  await using _ = await blockedBy(place.path);
  await expect(revocations.add({ id: "a", expiresAtS: NOW_S + 10 })).rejects.toThrow();
  expect(revocations.has({ id: "a", expiresAtS: NOW_S + 10 })).toBe(true);
});

test("whoever watches is told of a revoked token at once, until they stop", async () => {
  await using place = await scratch();
  const revocations = await place.open();
  const told: string[] = [];
  const watching = revocations.watch((id) => told.push(id));
  const writing = revocations.add({ id: "a", expiresAtS: NOW_S + 10 });
  expect(told).toEqual(["a"]);
  watching[Symbol.dispose]();
  await writing;
  await revocations.add({ id: "b", expiresAtS: NOW_S + 10 });
  expect(told).toEqual(["a"]);
});

/** A directory where the file should be: nobody can rename over it, not even root. */
async function blockedBy(path: string): Promise<AsyncDisposable> {
  await mkdir(join(path, "in the way"), { recursive: true });
  return { [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
