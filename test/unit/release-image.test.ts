// The image in a release, from an engine that is a script.
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { saveImage } from "../../scripts/release/image.ts";
import { ScriptFolder } from "./script-folder.ts";

afterEach(() => vi.unstubAllEnvs());

test("an image that the engine does not give to its end stops the release", async () => {
  await using folder = await ScriptFolder.make({ docker: '[ "$*" = "save ttyhq:test" ] && echo whole' });
  const tar = folder.at("image.tar");
  vi.stubEnv("PATH", folder.env.PATH);
  saveImage("ttyhq:test", tar);
  expect(gunzipSync(readFileSync(`${tar}.gz`)).toString()).toBe("whole\n");
  expect(await readdir(folder.path)).toEqual(["bin", "image.tar.gz"]);
  await folder.command("docker", "echo half; exit 1");
  expect(() => saveImage("ttyhq:test", tar)).toThrow("Command failed");
});
