// The native code that `npm ci` builds from native/, which is all of ours: none of it is downloaded.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const BUILD_TIMEOUT_MS = 120_000;
const PROGRAMS = ["ttyhq-run-as", "ttyhq.node"];

/** The built programs, with a compiler that searches `headers` first. */
async function built(directory: string, headers: string): Promise<readonly string[]> {
  for (const name of ["binding.gyp", "native"])
    await cp(join(ROOT, name), join(directory, name), { recursive: true });
  // Like npm for a package with a binding.gyp.
  const manifest = { name: "built", version: "1.0.0", scripts: { install: "node-gyp rebuild" } };
  await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
  const env = { ...process.env, CC: `cc -isystem ${headers}` };
  await promisify(execFile)("npm", ["run", "install"], { cwd: directory, env });
  return (await readdir(join(directory, "build/Release"))).filter((name) => name.startsWith("ttyhq")).sort();
}

test("the program that asks PAM is built from its source", { timeout: BUILD_TIMEOUT_MS }, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-build-"));
  expect(await built(directory.path, directory.path)).toEqual(["ttyhq-pam", ...PROGRAMS]);
});

test("where PAM's headers are missing, all else is built", { timeout: BUILD_TIMEOUT_MS }, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-build-"));
  const headers = join(directory.path, "headers");
  await mkdir(join(headers, "security"), { recursive: true });
  await writeFile(join(headers, "security/pam_appl.h"), "#error there are no headers of PAM\n");
  expect(await built(directory.path, headers)).toEqual(PROGRAMS);
});
