// Debian's package: the program below /usr/lib/ttyhq, systemd units, the PAM file, manual pages and completion.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { placeOf } from "../../src/cli/systemd/plan.ts";
import { ROOT } from "../build.ts";
import { description, version, writeExecutable } from "./file.ts";
import type { Architecture } from "./tree.ts";

const DEBIAN_ARCH = { x64: "amd64", arm64: "arm64" } as const;

function control(architecture: string): string {
  return `Package: ttyhq
Version: ${version}
Architecture: ${architecture}
Maintainer: The maintainers of ttyhq <ttyhq@localhost>
Section: net
Priority: optional
Depends: libc6 (>= 2.34), libstdc++6, libpam0g
Recommends: git, libpam-modules
Description: ${description.replace(/: .*/, "")}
 Runs programs in terminals that browsers, the command line and other programs can view and type into.
`;
}

const COPYRIGHT_OF_OTHERS = `
It contains Node and other packages: /usr/lib/ttyhq/LICENSE-NODE and /usr/lib/ttyhq/LICENSES-THIRD-PARTY.
`;

/** The session host keeps running with its programs; only the server is restarted. */
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

/** `tree`: the program with its Node, which is moved into `folder`. The package is written to `out`. */
export function makeDebianPackage(target: Architecture, tree: string, folder: string, out: string): void {
  const into = (path: string): string => join(folder, path);
  for (const path of ["DEBIAN", "etc/pam.d", "etc/ttyhq", "usr/bin", "usr/lib/systemd"])
    mkdirSync(into(path), { recursive: true });
  cpSync(tree, into("usr/lib/ttyhq"), { recursive: true });
  renameSync(into("usr/lib/ttyhq/share"), into("usr/share"));
  renameSync(into("usr/share/zsh/site-functions"), into("usr/share/zsh/vendor-completions"));
  for (const page of globSync(into("usr/share/man/man1/*"))) execFileSync("gzip", ["-9n", page]);
  symlinkSync("../lib/ttyhq/bin/ttyhq", into("usr/bin/ttyhq"));
  cpSync(join(ROOT, "packaging/systemd"), into("usr/lib/systemd"), { recursive: true });
  cpSync(join(ROOT, "packaging/pam.d/ttyhq"), into("etc/pam.d/ttyhq"));
  const { firstConfig } = placeOf("system", { env: {}, home: "/" });
  writeFileSync(into("etc/ttyhq/config.yaml"), firstConfig, { mode: 0o640 });
  mkdirSync(into("usr/share/doc/ttyhq"), { recursive: true });
  const license = readFileSync(join(ROOT, "LICENSE"), "utf8");
  writeFileSync(into("usr/share/doc/ttyhq/copyright"), license + COPYRIGHT_OF_OTHERS);
  writeFileSync(into("DEBIAN/control"), control(DEBIAN_ARCH[target]));
  writeFileSync(into("DEBIAN/conffiles"), "/etc/pam.d/ttyhq\n/etc/ttyhq/config.yaml\n");
  writeExecutable(into("DEBIAN/postinst"), POSTINST);
  writeExecutable(into("DEBIAN/prerm"), PRERM);
  const file = join(out, `ttyhq_${version}_${DEBIAN_ARCH[target]}.deb`);
  // dpkg-deb's default level is 9, which takes twice the time for one percent.
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z6", "--build", folder, file], {
    env: { ...env, SOURCE_DATE_EPOCH: "0" },
    stdio: "ignore",
  });
}
