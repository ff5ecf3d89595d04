// Prints what an image is made of, as CycloneDX 1.5 in JSON. Runs in the image, at the end of its build.
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Component, packageUrl } from "./sbom/component.ts";
import { DPKG_FORMAT, debianPackages } from "./sbom/debian-packages.ts";
import { bomOf } from "./sbom/document.ts";
import { applicationPackages, installedPackages, packageIn } from "./sbom/npm-packages.ts";

const source = fileURLToPath(new URL("..", import.meta.url));
const lock = JSON.parse(readFileSync(`${source}package-lock.json`, "utf8"));
const { version } = JSON.parse(readFileSync(`${source}package.json`, "utf8"));
const [, release = ""] = /^VERSION_ID="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
const packages = execFileSync("dpkg-query", ["--show", `--showformat=${DPKG_FORMAT}`], { encoding: "utf8" });

const ttyhq: Component = {
  ...{ type: "container", "bom-ref": `ttyhq@${version}`, name: "ttyhq", version },
  licenses: [{ license: { id: "MIT" } }],
};
const nodeVersion = process.version.slice(1);
const nodeUrl = packageUrl("generic", "node", nodeVersion);
const bom = bomOf(ttyhq, [
  { type: "operating-system", "bom-ref": `debian@${release}`, name: "debian", version: release },
  { type: "platform", "bom-ref": nodeUrl, name: "node", version: nodeVersion, purl: nodeUrl },
  ...applicationPackages(source, lock),
  // What comes with Node: npm, and all that it needs.
  ...installedPackages("/usr/local/lib"),
  // The official image has Yarn, too.
  ...globSync("/opt/yarn-v*").map((folder) => packageIn(folder)),
  ...debianPackages(packages, { release, documents: "/usr/share/doc" }),
]);
process.stdout.write(`${JSON.stringify(bom, undefined, 1)}\n`);
