// docker/compose/init.sh where it cannot make what is missing.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../docker/compose/init.sh", import.meta.url));
const TIMEOUT_MS = 60_000;

/** Only `openssl x509` knows all its options, as of 1.1.1 and LibreSSL. */
const OLD = '[ "$1" = x509 ] || { echo "$1: Unrecognized flag noenc" >&2; exit 1; }';

test("a failure of openssl is told", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-secrets-"));
  expect(await run(folder.path, OLD)).toEqual({
    code: 1,
    stderr: "docker/compose/init.sh: req: Unrecognized flag noenc\n",
  });
});

test("an authority whose key is kept elsewhere is not replaced", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-secrets-"));
  const authority = join(folder.path, "docker/compose/secrets/ca.crt");
  await mkdir(dirname(authority), { recursive: true });
  await writeFile(authority, "of this site");
  expect(await run(folder.path, '[ "$1" != verify ]')).toEqual({
    code: 1,
    stderr:
      "docker/compose/init.sh: ca.crt exists without ca.key, which signs hq.crt: add ca.key, or add hq.crt and hq.key from the owner of ca.crt\n",
  });
  expect(await readFile(authority, "utf8")).toBe("of this site");
});

async function run(folder: string, openssl: string): Promise<{ code: number | null; stderr: string }> {
  const [bin, compose] = [join(folder, "bin"), join(folder, "docker/compose")];
  await Promise.all([bin, compose].map((path) => mkdir(path, { recursive: true })));
  await copyFile(SCRIPT, join(compose, "init.sh"));
  await writeFile(join(bin, "openssl"), `#!/bin/sh\n${openssl}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; stderr: string }>();
  const child = execFile("sh", [join(compose, "init.sh")], { env, timeout: TIMEOUT_MS }, (_, __, stderr) =>
    resolve({ code: child.exitCode, stderr }),
  );
  return await promise;
}
