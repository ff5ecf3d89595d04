// Collects the native files of packages in prebuilds/: those of this machine, and for arm64 if Debian's
// g++-aarch64-linux-gnu is installed.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { ROOT } from "./build.ts";

const FILES = ["ttyhq.node", "ttyhq-run-as", "ttyhq-pam"];
const ARM64 = "aarch64-linux-gnu-";

/** Copies the native files of this machine to `folder`, without symbols. */
export function copyNative(
  folder: string,
  { tools = "", from = ROOT, nodePty = "node_modules/node-pty" } = {},
): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const built = FILES.map((name) => join(from, "build/Release", name));
  for (const path of [...built, join(from, nodePty, "build/Release/pty.node")].filter((path) =>
    existsSync(path),
  )) {
    cpSync(path, join(folder, path.slice(path.lastIndexOf("/"))));
    execFileSync(`${tools}strip`, ["--strip-unneeded", join(folder, path.slice(path.lastIndexOf("/")))]);
  }
}

/** `node-gyp` is on the PATH of npm's scripts. */
function crossCompile(work: string): void {
  rmSync(work, { recursive: true, force: true });
  for (const name of ["binding.gyp", "native"])
    cpSync(join(ROOT, name), join(work, name), { recursive: true });
  for (const name of ["binding.gyp", "package.json", "src"])
    cpSync(join(ROOT, "node_modules/node-pty", name), join(work, "node-pty", name), { recursive: true });
  const compilers = { CC: `${ARM64}gcc`, CXX: `${ARM64}g++`, LINK: `${ARM64}g++` };
  // Needs libpam0g-dev:arm64; without it, system passwords do not work there.
  const hasPam = existsSync("/usr/lib/aarch64-linux-gnu/libpam.so") ? 1 : 0;
  for (const cwd of [work, join(work, "node-pty")]) {
    const args = ["rebuild", "--arch=arm64", "--", `-Dhas_pam=${hasPam}`];
    execFileSync("node-gyp", args, {
      ...{ cwd, env: { ...env, ...compilers } },
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
}

function hasArm64(): boolean {
  try {
    execFileSync(`${ARM64}g++`, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  copyNative(join(ROOT, `prebuilds/linux-${arch()}`));
  if (arch() !== "arm64" && hasArm64()) {
    const work = join(ROOT, ".cache/native-arm64");
    crossCompile(work);
    copyNative(join(ROOT, "prebuilds/linux-arm64"), { tools: ARM64, from: work, nodePty: "node-pty" });
  }
}
