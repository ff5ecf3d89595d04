import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFactorFile } from "../../../../src/auth/passkey/factor-store.ts";

const FACTORS = { passkeys: [], recovery: ["hash of a code"] };

test("second factors survive a restart, whatever the name of their user", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-factors-"));
  const path = join(folder.path, "second-factors");
  for (const user of ["ada", "__proto__", "constructor"])
    await (await openFactorFile(path)).change(user, () => FACTORS);
  const { get } = await openFactorFile(path);
  expect([await get("ada"), await get("__proto__"), await get("constructor")]).toEqual(
    Array(3).fill(FACTORS),
  );
  expect(await get("toString")).toEqual({ passkeys: [], recovery: [] });
});

test.each([
  ["no users", '{"version":1}'],
  ["null", '{"version":1,"users":null}'],
  ["a list", '{"version":1,"users":[]}'],
  ["incomplete factors", '{"version":1,"users":{"__proto__":{"recovery":[]}}}'],
])("a file with %s is damaged: without it the password alone would log in", async (_, text) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-factors-"));
  const path = join(folder.path, "second-factors");
  await writeFile(path, text);
  await expect(openFactorFile(path)).rejects.toThrow("is damaged");
});
