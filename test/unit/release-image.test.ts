// The image in a release, from an engine that is a script.
import { readFileSync } from "node:fs";
import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { saveImage } from "../../scripts/release/image.ts";

afterEach(() => vi.unstubAllEnvs());

test("an image that the engine does not give to its end stops the release", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-release-"));
  const tar = join(folder.path, "image.tar");
  const docker = (script: string): Promise<void> =>
    writeFile(join(folder.path, "docker"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder.path}:${process.env.PATH}`);
  await docker('[ "$*" = "save ttyhq:test" ] && echo whole');
  saveImage("ttyhq:test", tar);
  expect(gunzipSync(readFileSync(`${tar}.gz`)).toString()).toBe("whole\n");
  expect(await readdir(folder.path)).toEqual(["docker", "image.tar.gz"]);
  await docker("echo half; exit 1");
  expect(() => saveImage("ttyhq:test", tar)).toThrow("Command failed");
});
