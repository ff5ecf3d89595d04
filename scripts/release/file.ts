// File helpers of the release scripts.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../build.ts";

export const { version, description }: { readonly version: string; readonly description: string } =
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** In hexadecimal digits. */
export function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

export function writeExecutable(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o755 });
}
