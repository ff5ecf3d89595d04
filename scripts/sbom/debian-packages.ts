// Debian packages, from dpkg and their copyright files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Component, type License, packageUrl } from "./component.ts";

/** The format of `dpkg-query --show --showformat`: one line per package. */
export const DPKG_FORMAT = `${[
  "binary:Package",
  "Version",
  "Architecture",
  "source:Package",
  "source:Version",
]
  .map((field) => `\${${field}}`)
  .join("\\t")}\\n`;

/** Debian's names of licences that differ from SPDX; "+" means "or later". */
const SPDX: Readonly<Record<string, string>> = {
  ...{ expat: "MIT", mit: "MIT", isc: "ISC", zlib: "Zlib", openssl: "OpenSSL" },
  ...{ "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause" },
  ...{ "bsd-4-clause": "BSD-4-Clause", "mpl-2.0": "MPL-2.0", "cc0-1.0": "CC0-1.0", "bsl-1.0": "BSL-1.0" },
  ...{
    "gpl-1": "GPL-1.0",
    "gpl-2": "GPL-2.0",
    "gpl-2.0": "GPL-2.0",
    "gpl-3": "GPL-3.0",
    "gpl-3.0": "GPL-3.0",
  },
  ...{ "lgpl-2": "LGPL-2.0", "lgpl-2.0": "LGPL-2.0", "lgpl-2.1": "LGPL-2.1", "lgpl-3": "LGPL-3.0" },
  ...{ "lgpl-3.0": "LGPL-3.0", "gfdl-1.3": "GFDL-1.3" },
};
const VERSIONED = /^(L?GPL|GFDL)-/;

/** `release` as in "12"; copyright files are below `documents`. */
export function debianPackages(
  listed: string,
  { release, documents }: { readonly release: string; readonly documents: string },
): Component[] {
  return listed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [qualified = "", version = "", architecture = "", source = "", sourceVersion = ""] =
        line.split("\t");
      // With several architectures the name is "libc6:amd64".
      const name = qualified.replace(/:.*/, "");
      const upstream = encodeURIComponent(`${source}@${sourceVersion}`);
      const qualifiers = `?arch=${architecture}&distro=debian-${release}&upstream=${upstream}`;
      const purl = packageUrl("deb", `debian/${name}`, version, qualifiers);
      const licenses = licensesIn(copyrightOf(join(documents, name, "copyright")));
      return {
        ...{ type: "library", "bom-ref": purl, name, version, purl },
        ...(licenses.length > 0 && { licenses }),
      };
    });
}

function copyrightOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Some packages have no copyright file of their own.
    return "";
  }
}

/**
 * Reads the fields of a machine-readable file; from any other file the common licences that it refers to, by their
 * names there.
 */
export function licensesIn(copyright: string): License[] {
  const isReadable = /^Format: .*copyright-format/m.test(copyright);
  const names = isReadable ? fieldsIn(copyright).map(spdxName) : commonIn(copyright);
  return [...new Set(names)].sort().map((name) => ({ license: isSpdx(name) ? { id: name } : { name } }));
}

function fieldsIn(copyright: string): string[] {
  const fields = [...copyright.matchAll(/^License: *(\S.*)$/gm)].map(([, text = ""]) => text);
  const names = fields.flatMap((text) => text.split(/,? (?:and|or) |, ?/));
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** "GPL-2" here does not say whether a later version is allowed. */
function commonIn(copyright: string): string[] {
  const references = copyright.matchAll(/\/usr\/share\/common-licenses\/([\w.-]*\w)/g);
  return [...references].map(([, name = ""]) => name);
}

function spdxName(name: string): string {
  const isLater = name.endsWith("+");
  const known = SPDX[name.replace(/\+$/, "").toLowerCase()];
  if (known === undefined) return name;
  if (!VERSIONED.test(known)) return known;
  return `${known}-${isLater ? "or-later" : "only"}`;
}

/** SPDX has deprecated the plain name "GPL-2.0". */
function isSpdx(name: string): boolean {
  const bare = name.replace(/-(only|or-later)$/, "");
  return Object.values(SPDX).includes(bare) && (bare !== name || !VERSIONED.test(name));
}
