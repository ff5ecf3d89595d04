// What docker/ensure-engine.sh says to somebody who cannot become root, with an engine that is made of words.
import { execFile } from "node:child_process";
import { mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../docker/ensure-engine.sh", import.meta.url));
const TIMEOUT_MS = 60_000;
/** All that the script is given: no sudo. */
const SYSTEM = ["/usr/bin/dirname", "/usr/bin/timeout", "/bin/sh"];

const MACHINES = [
  { about: "nothing is missing", docker: "echo 2.26.1", said: "" },
  { about: "there is no engine", docker: "exit 1", said: "no engine answers" },
  {
    about: "the engine has no Compose v2",
    docker: '[ "$1" != compose ]',
    said: "Compose v2 or buildx is missing",
  },
  {
    about: "its buildx is missing",
    docker: '[ "$1" != buildx ] && echo v2.40.0',
    said: "Compose v2 or buildx is missing",
  },
  {
    about: "its socket is closed to them",
    docker: "echo permission denied >&2; exit 1",
    said: "join the group docker",
  },
] as const;

test.each(MACHINES)('where $about it says "$said"', async ({ docker, said }) => {
  await using bin = await mkdtempDisposable(join(tmpdir(), "ttyhq-engine-"));
  for (const path of SYSTEM) await symlink(path, join(bin.path, path.replace(/.*\//, "")));
  for (const [name, text] of [
    ["docker", docker],
    ["id", "echo 1000"],
  ]) {
    await writeFile(join(bin.path, name ?? ""), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  const { code, stderr } = await run({ PATH: bin.path });
  expect(stderr).toContain(said);
  expect(code).toBe(said === "" ? 0 : 1);
});

function run(env: NodeJS.ProcessEnv): Promise<{ readonly code: number; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile("/bin/sh", [SCRIPT], { env, timeout: TIMEOUT_MS }, (_, __, stderr) =>
      resolve({ code: child.exitCode ?? -1, stderr }),
    );
  });
}
