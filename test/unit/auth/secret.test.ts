import { chmod, mkdtempDisposable, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keptTokenSecret } from "../../../src/auth/secret.ts";

async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-secret-"));
  const warnings: string[] = [];
  const path = join(directory.path, "jwt-secret");
  const open = () => keptTokenSecret(path, { warn: (_, message) => void warnings.push(message) });
  return { path, warnings, open, [Symbol.asyncDispose]: () => directory.remove() };
}

test("a secret is created once, readable only by its owner, and survives a restart", async () => {
  await using place = await scratch();
  const made = await place.open();
  expect(made.bytes().length).toBe(64);
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
  expect((await place.open()).bytes()).toEqual(made.bytes());
});

test("servers that start at the same time get the same secret", async () => {
  await using place = await scratch();
  const all = await Promise.all(Array.from({ length: 10 }, () => place.open()));
  expect(new Set(all.map((secret) => secret.bytes().toString())).size).toBe(1);
});

test("a secret that others could read is closed to them, and the log says so", async () => {
  await using place = await scratch();
  await place.open();
  await chmod(place.path, 0o664);
  await place.open();
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
  expect(place.warnings).toEqual(["token secret was open to others, now closed"]);
});

test.each(["", "short"])("a stored secret of %j is refused with a remedy", async (text) => {
  await using place = await scratch();
  await writeFile(place.path, text, { mode: 0o600 });
  await expect(place.open()).rejects.toThrow(`${place.path} is damaged: remove it to have a new one made`);
});
