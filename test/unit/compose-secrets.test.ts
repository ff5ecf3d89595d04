// docker/compose/init.sh on a machine whose openssl lacks an option.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../docker/compose/init.sh", import.meta.url));
const TIMEOUT_MS = 60_000;

/** Only `openssl x509` knows all its options, as of 1.1.1 and LibreSSL. */
const OLD = '[ "$1" = x509 ] || { echo "$1: Unrecognized flag noenc" >&2; exit 1; }';

test("a failure of openssl is told", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-secrets-"));
  const [bin, compose] = [join(folder.path, "bin"), join(folder.path, "docker/compose")];
  await Promise.all([bin, compose].map((path) => mkdir(path, { recursive: true })));
  await copyFile(SCRIPT, join(compose, "init.sh"));
  await writeFile(join(bin, "openssl"), `#!/bin/sh\n${OLD}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; stderr: string }>();
  const child = execFile("sh", [join(compose, "init.sh")], { env, timeout: TIMEOUT_MS }, (_, __, stderr) =>
    resolve({ code: child.exitCode, stderr }),
  );
  expect(await promise).toEqual({
    code: 1,
    stderr: "docker/compose/init.sh: req: Unrecognized flag noenc\n",
  });
});
