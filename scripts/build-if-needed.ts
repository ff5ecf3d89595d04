// Builds dist/ if it is missing or a source has changed. The first step of `npm start`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, ROOT, runBuild, STAMP } from "./build.ts";
import { sourceFingerprint } from "./fingerprint.ts";

await runBuild(async () => {
  const built = await readFile(join(ROOT, "dist", STAMP), "utf8").catch(() => undefined);
  if (built !== (await sourceFingerprint(ROOT))) await build();
});
