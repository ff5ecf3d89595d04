// Prints the components of an image, as CycloneDX 1.5 in JSON. Runs in the image, at the end of its build.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DPKG_FORMAT, debianPackages } from "./sbom/debian-packages.ts";
import { billOfMaterials } from "./sbom/program.ts";

const source = fileURLToPath(new URL("..", import.meta.url));
const [, release = ""] = /^VERSION_ID="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
const packages = execFileSync("dpkg-query", ["--show", `--showformat=${DPKG_FORMAT}`], { encoding: "utf8" });

process.stdout.write(
  billOfMaterials(source, "container", [
    { type: "operating-system", "bom-ref": `debian@${release}`, name: "debian", version: release },
    ...debianPackages(packages, { release, documents: "/usr/share/doc" }),
  ]),
);
