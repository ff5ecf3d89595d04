// Makes what a release consists of, in release/: the npm package, an archive and a package for Debian with Node in them, the
// bill of materials, and checksums. Run by npm: `npm run release`.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { arch } from "node:os";
import { dirname, join } from "node:path";
import { placeOf } from "../src/cli/systemd/plan.ts";
import { ROOT } from "./build.ts";
import { writeManPages } from "./man-pages.ts";
import { copyNative } from "./prebuild.ts";
import { type Component, packageUrl } from "./sbom/component.ts";
import { bomOf } from "./sbom/document.ts";
import { applicationPackages } from "./sbom/npm-packages.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

const OUT = join(ROOT, "release");
const WORK = join(ROOT, ".cache/release");
const TREE = join(WORK, "ttyhq");
const DEBIAN = join(WORK, "debian");
const NODE_PACKAGE = join(ROOT, `node_modules/node/node_modules/node-linux-${arch()}`);
const DEBIAN_ARCH: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

const COMPLETIONS = [
  ["bash", "share/bash-completion/completions/ttyhq"],
  ["zsh", "share/zsh/site-functions/_ttyhq"],
  ["fish", "share/fish/vendor_completions.d/ttyhq.fish"],
] as const;

const { version, description } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** The program with the Node that runs this. Its first argument may be a link, as in /usr/bin. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../dist/main.js" "$@"
`;

const CONTROL = `Package: ttyhq
Version: ${version}
Architecture: ${DEBIAN_ARCH[arch()]}
Maintainer: The maintainers of ttyhq <ttyhq@localhost>
Section: net
Priority: optional
Depends: libc6 (>= 2.34), libstdc++6, libpam0g
Recommends: git, libpam-modules
Description: ${description.replace(/: .*/, "")}
 Runs programs in terminals that browsers, the command line and other programs can view and type into.
`;

const OTHERS = `
It contains Node and other packages: /usr/lib/ttyhq/LICENSE-NODE and /usr/lib/ttyhq/LICENSES-THIRD-PARTY.
`;

/** The session host goes on with its programs; only the server is started again. */
const POSTINST = `#!/bin/sh
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ -n "$2" ]; then systemctl try-restart ttyhq.service; fi
`;

const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now ttyhq.service ttyhq-session-host.service
fi
# Code that V8 has compiled.
rm -rf /usr/lib/ttyhq/dist/.cache
`;

async function makeTree(): Promise<void> {
  const kept = (path: string): boolean => !/\/dist\/\.[^/]+$/.test(path);
  cpSync(join(ROOT, "dist"), join(TREE, "dist"), { recursive: true, filter: kept });
  for (const name of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "packaging"])
    cpSync(join(ROOT, name), join(TREE, name), { recursive: true });
  copyNative(join(TREE, `prebuilds/linux-${arch()}`));
  mkdirSync(join(TREE, "bin"));
  execFileSync("strip", ["-o", join(TREE, "bin/node"), process.execPath]);
  writeExecutable(join(TREE, "bin/ttyhq"), LAUNCHER);
  writeFileSync(join(TREE, "sbom.cdx.json"), billOfMaterials());
  writeFileSync(join(TREE, "LICENSES-THIRD-PARTY"), thirdPartyLicenses());
  cpSync(join(NODE_PACKAGE, "LICENSE"), join(TREE, "LICENSE-NODE"));
  await writeManPages(join(TREE, "share/man/man1"));
  for (const [shell, path] of COMPLETIONS) {
    const script = execFileSync(process.execPath, [join(TREE, "dist/main.js"), "completion", shell]);
    mkdirSync(dirname(join(TREE, path)), { recursive: true });
    writeFileSync(join(TREE, path), script);
  }
  rmSync(join(TREE, "dist/.cache"), { recursive: true, force: true });
}

function billOfMaterials(): string {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const node = process.version.slice(1);
  const purl = packageUrl("generic", "node", node);
  const ttyhq: Component = {
    ...{ type: "application", "bom-ref": `ttyhq@${version}`, name: "ttyhq", version },
    licenses: [{ license: { id: "MIT" } }],
  };
  const platform: Component = { type: "platform", "bom-ref": purl, name: "node", version: node, purl };
  return `${JSON.stringify(bomOf(ttyhq, [platform, ...applicationPackages(ROOT, lock)]), undefined, 1)}\n`;
}

function makeArchive(): void {
  tar(join(OUT, `ttyhq-linux-${arch()}.tar.gz`), WORK, "ttyhq");
}

/** The same bytes for the same contents. */
function tar(file: string, folder: string, name: string): void {
  const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  execFileSync("tar", ["--create", "--gzip", ...same, `--file=${file}`, `--directory=${folder}`, name]);
}

function makeDebianPackage(): void {
  const into = (path: string): string => join(DEBIAN, path);
  for (const folder of ["DEBIAN", "etc/pam.d", "etc/ttyhq", "usr/bin", "usr/lib/systemd"])
    mkdirSync(into(folder), { recursive: true });
  cpSync(TREE, into("usr/lib/ttyhq"), { recursive: true });
  renameSync(into("usr/lib/ttyhq/share"), into("usr/share"));
  renameSync(into("usr/share/zsh/site-functions"), into("usr/share/zsh/vendor-completions"));
  for (const page of globSync(into("usr/share/man/man1/*"))) execFileSync("gzip", ["-9n", page]);
  symlinkSync("../lib/ttyhq/bin/ttyhq", into("usr/bin/ttyhq"));
  cpSync(join(ROOT, "packaging/systemd"), into("usr/lib/systemd"), { recursive: true });
  cpSync(join(ROOT, "packaging/pam.d/ttyhq"), into("etc/pam.d/ttyhq"));
  writeFileSync(into("etc/ttyhq/config.yaml"), placeOf("system", { env: {}, home: "/" }).firstConfig, {
    mode: 0o640,
  });
  mkdirSync(into("usr/share/doc/ttyhq"), { recursive: true });
  writeFileSync(
    into("usr/share/doc/ttyhq/copyright"),
    `${readFileSync(join(ROOT, "LICENSE"), "utf8")}${OTHERS}`,
  );
  writeFileSync(into("DEBIAN/control"), CONTROL);
  writeFileSync(into("DEBIAN/conffiles"), "/etc/pam.d/ttyhq\n/etc/ttyhq/config.yaml\n");
  writeExecutable(into("DEBIAN/postinst"), POSTINST);
  writeExecutable(into("DEBIAN/prerm"), PRERM);
  const file = join(OUT, `ttyhq_${version}_${DEBIAN_ARCH[arch()]}.deb`);
  const env = { ...process.env, SOURCE_DATE_EPOCH: "0" };
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "--build", DEBIAN, file], {
    env,
    stdio: "ignore",
  });
}

function writeExecutable(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

function writeChecksums(): void {
  const lines = readdirSync(OUT)
    .sort()
    .map(
      (name) =>
        `${createHash("sha256")
          .update(readFileSync(join(OUT, name)))
          .digest("hex")}  ${name}\n`,
    );
  writeFileSync(join(OUT, "SHA256SUMS"), lines.join(""));
}

for (const folder of [OUT, WORK]) rmSync(folder, { recursive: true, force: true });
for (const folder of [OUT, TREE]) mkdirSync(folder, { recursive: true });
// Builds dist/ as well, where that is stale.
execFileSync("npm", ["pack", "--silent", "--pack-destination", OUT], {
  cwd: ROOT,
  stdio: ["ignore", "inherit", "inherit"],
});
await makeTree();
makeArchive();
makeDebianPackage();
cpSync(join(TREE, "sbom.cdx.json"), join(OUT, "sbom.cdx.json"));
writeChecksums();
rmSync(WORK, { recursive: true, force: true });
