// Builds dist/ when there is none or when a source has changed since. What `npm start` does first.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, ROOT, runBuild, STAMP } from "./build.ts";
import { sourceFingerprint } from "./fingerprint.ts";

await runBuild(async () => {
  const built = await readFile(join(ROOT, "dist", STAMP), "utf8").catch(() => undefined);
  if (built !== (await sourceFingerprint(ROOT))) await build();
});
