// docker/compose/remotes and the file that it writes, which may also be an operator's own.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../docker/compose/remotes", import.meta.url));
const OWN = "services:\n  hq:\n    ports: []\n";

const run = promisify(execFile);

test.each(["2", "3"])("an override of the operator's own is kept: %s remotes", async (count) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-remotes-"));
  const script = join(folder.path, "docker/compose/remotes");
  const override = join(folder.path, "compose.override.yaml");
  await mkdir(dirname(script), { recursive: true });
  await copyFile(SCRIPT, script);
  await run("sh", [script, "4"]);
  await run("sh", [script, "3"]);
  expect(await readFile(override, "utf8")).toContain("remote-3-host:");
  await run("sh", [script, "2"]);
  expect(existsSync(override)).toBe(false);
  await writeFile(override, OWN);
  await expect(run("sh", [script, count])).rejects.toMatchObject({
    code: 1,
    stderr: `docker/compose/remotes: ${override} is not of this script: move it away first\n`,
  });
  expect(await readFile(override, "utf8")).toBe(OWN);
});
