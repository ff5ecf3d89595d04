// The licenses of all bundled packages, which most of them require to distribute.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./build.ts";
import { applicationPackages } from "./sbom/npm-packages.ts";

/** Of the bundles in dist/, the page and node-pty, in this order. */
export function thirdPartyLicenses(): string {
  const sections = applicationPackages(ROOT).map(({ name, version }) => {
    const [file] = globSync(join(ROOT, "node_modules", name, "{LICEN[CS]E,licen[cs]e,COPYING}*"));
    const text = file === undefined ? readmeLicense(name) : readFileSync(file, "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return [...new Set(sections)].sort().join(`\n${"-".repeat(80)}\n\n`);
}

/** Of packages without a license file. */
function readmeLicense(name: string): string {
  const { license, author } = JSON.parse(
    readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"),
  );
  return `License: ${license}. Author: ${author?.name ?? author ?? "see the package"}.`;
}

if (import.meta.main) writeFileSync(join(ROOT, "LICENSES-THIRD-PARTY"), thirdPartyLicenses());
