// What docker/ensure-engine.sh says to somebody who cannot become root, with an engine that is made of words.
import { symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ScriptFolder } from "./script-folder.ts";

const SCRIPT = fileURLToPath(new URL("../../docker/ensure-engine.sh", import.meta.url));
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
  await using folder = await ScriptFolder.make({ docker, id: "echo 1000" });
  const bin = folder.at("bin");
  for (const path of SYSTEM) await symlink(path, join(bin, basename(path)));
  const { code, stderr } = await folder.run(SCRIPT, [], { PATH: bin });
  expect(stderr).toContain(said);
  expect(code).toBe(said === "" ? 0 : 1);
});
