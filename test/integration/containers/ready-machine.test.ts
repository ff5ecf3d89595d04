// Install scripts change nothing on a machine that has everything.
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { builtImage, ROOT } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, run } from "./docker.ts";

const NOWHERE = "tcp://127.0.0.1:1";

test("where an engine with Compose v2 and buildx answers, nothing is installed or started", async () => {
  expect(await run("sh", [`${ROOT}docker/ensure-engine.sh`])).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("where all tools of the tests are there, none is installed", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-setup-"));
  // It would print a line if it were called.
  await writeFile(join(folder.path, "apt-get"), "#!/bin/sh\necho asked: $* >&2; exit 1\n", { mode: 0o755 });
  const PATH = `${folder.path}${delimiter}${process.env.PATH}`;
  const setup = await run("sh", [`${ROOT}scripts/setup-debian.sh`], { env: { PATH } });
  expect(setup).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("an engine elsewhere that does not answer is not replaced by one here", async () => {
  const asked = await run("sh", [`${ROOT}docker/ensure-engine.sh`], { env: { DOCKER_HOST: NOWHERE } });
  expect(asked).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`nothing answers at DOCKER_HOST=${NOWHERE}`),
  });
});

test("a base image that is there is not made again", { timeout: BUILD_TIMEOUT_MS }, async () => {
  await builtImage();
  expect(await run("sh", [`${ROOT}docker/base/build.sh`])).toEqual({ code: 0, stdout: "", stderr: "" });
});
