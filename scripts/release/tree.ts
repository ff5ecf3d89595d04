// The program with its own Node: the folder in the archive, and /usr/lib/ttyhq of Debian's package.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { arch } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "../build.ts";
import { billOfMaterials } from "../sbom/program.ts";
import { writeExecutable } from "./file.ts";

export type Architecture = "x64" | "arm64";

/** Its first argument may be a link, as in /usr/bin. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../dist/main.js" "$@"
`;

const COMPLETIONS = [
  ["bash", "share/bash-completion/completions/ttyhq"],
  ["zsh", "share/zsh/site-functions/_ttyhq"],
  ["fish", "share/fish/vendor_completions.d/ttyhq.fish"],
] as const;

/** `unpacked`: the npm package. Creates `tree`. */
export async function makeTree(target: Architecture, unpacked: string, tree: string): Promise<void> {
  mkdirSync(join(tree, "bin"), { recursive: true });
  const documents = [
    "package.json",
    "README.md",
    "LICENSE",
    "LICENSES-THIRD-PARTY",
    "CHANGELOG.md",
    "SECURITY.md",
  ];
  for (const name of ["dist", `prebuilds/linux-${target}`, ...documents])
    cpSync(join(unpacked, name), join(tree, name), { recursive: true });
  cpSync(join(unpacked, "man"), join(tree, "share/man/man1"), { recursive: true });
  cpSync(join(ROOT, "packaging"), join(tree, "packaging"), { recursive: true });
  const node = nodePackage(target, join(tree, "../node"));
  const strip = target === arch() ? "strip" : "aarch64-linux-gnu-strip";
  execFileSync(strip, ["-o", join(tree, "bin/node"), join(node, "bin/node")]);
  cpSync(join(node, "LICENSE"), join(tree, "LICENSE-NODE"));
  writeExecutable(join(tree, "bin/ttyhq"), LAUNCHER);
  writeFileSync(join(tree, "sbom.cdx.json"), billOfMaterials(ROOT, "application"));
  for (const [shell, path] of COMPLETIONS) {
    const script = execFileSync(process.execPath, [join(tree, "dist/main.js"), "completion", shell]);
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), script);
  }
  // Code that V8 has compiled meanwhile.
  rmSync(join(tree, "dist/.cache"), { recursive: true, force: true });
}

/** The npm package with Node's binary: the installed one, or the same version for the other architecture. */
function nodePackage(target: Architecture, folder: string): string {
  const name = `node-linux-${target}`;
  if (target === arch()) return join(ROOT, "node_modules/node/node_modules", name);
  mkdirSync(folder, { recursive: true });
  const version = process.version.slice(1);
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder, `${name}@${version}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [file = ""] = readdirSync(folder);
  execFileSync("tar", ["-xzf", join(folder, file), "-C", folder]);
  return join(folder, "package");
}
