// docker/compose/init.sh where it cannot make what is missing.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ScriptFolder } from "./script-folder.ts";

const SCRIPT = "docker/compose/init.sh";

/** Only `openssl x509` knows all its options, as of 1.1.1 and LibreSSL. */
const OLD = '[ "$1" = x509 ] || { echo "$1: Unrecognized flag noenc" >&2; exit 1; }';

test("a failure of openssl is told", async () => {
  await using folder = await ScriptFolder.make({ openssl: OLD });
  await folder.copy(SCRIPT);
  expect(await folder.run(SCRIPT)).toMatchObject({
    code: 1,
    stderr: "docker/compose/init.sh: req: Unrecognized flag noenc\n",
  });
});

test("an authority whose key is kept elsewhere is not replaced", async () => {
  await using folder = await ScriptFolder.make({ openssl: '[ "$1" != verify ]' });
  await folder.copy(SCRIPT);
  const authority = "docker/compose/secrets/ca.crt";
  await folder.write(authority, "of this site");
  expect(await folder.run(SCRIPT)).toMatchObject({
    code: 1,
    stderr:
      "docker/compose/init.sh: ca.crt exists without ca.key, which signs hq.crt: add ca.key, or add hq.crt and hq.key from the owner of ca.crt\n",
  });
  expect(await readFile(folder.at(authority), "utf8")).toBe("of this site");
});
