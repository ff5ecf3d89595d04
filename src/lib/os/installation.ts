// Where the files of this installation are, as seen from the sources and from the bundles in dist/.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const isSource = import.meta.filename.endsWith(".ts");
const ROOT = join(import.meta.dirname, isSource ? "../../.." : "..");

/** The programs, by the names of their bundles in dist/, and their sources below src/. */
export const PROGRAMS = {
  main: "main.ts",
  "account-worker": "auth/accounts/worker.ts",
  "git-worker": "git/worker/main.ts",
  "screen-worker": "sessions/screen/thread/worker.ts",
} as const;

export function programFile(name: keyof typeof PROGRAMS): string {
  return isSource ? join(ROOT, "src", PROGRAMS[name]) : join(ROOT, "dist", `${name}.js`);
}

/** A native module of `nativeFile`. Throws where it is missing or does not fit this Node. */
export function loadNative(name: string): ReturnType<NodeJS.Require> {
  return createRequire(import.meta.filename)(nativeFile(name));
}

const BUILT = "build/Release";
/** Built here from source, prebuilt in a package, or node-pty's. */
const NATIVE_FOLDERS = [
  BUILT,
  `prebuilds/${process.platform}-${process.arch}`,
  "node_modules/node-pty/build/Release",
  `node_modules/node-pty/prebuilds/${process.platform}-${process.arch}`,
];

/** A file that binding.gyp builds, or node-pty's `pty.node`. */
export function nativeFile(name: string): string {
  const paths = NATIVE_FOLDERS.map((folder) => join(ROOT, folder, name));
  return paths.find((path) => existsSync(path)) ?? join(ROOT, BUILT, name);
}
