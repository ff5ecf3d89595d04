// The bill of materials of the program, in the image or with its own Node.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Component, packageUrl } from "./component.ts";
import { bomOf } from "./document.ts";
import { applicationPackages } from "./npm-packages.ts";

/** JSON text. `root`: the checkout. `others`: components besides Node and the packages of npm in the program. */
export function billOfMaterials(
  root: string,
  type: "application" | "container",
  others: readonly Component[] = [],
): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const ttyhq: Component = {
    ...{ type, "bom-ref": `ttyhq@${version}`, name: "ttyhq", version },
    licenses: [{ license: { id: "MIT" } }],
  };
  const node = process.version.slice(1);
  const purl = packageUrl("generic", "node", node);
  const platform: Component = { type: "platform", "bom-ref": purl, name: "node", version: node, purl };
  const bom = bomOf(ttyhq, [platform, ...applicationPackages(root), ...others]);
  return `${JSON.stringify(bom, undefined, 1)}\n`;
}
