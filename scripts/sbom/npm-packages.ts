// The npm packages in a bundled program.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Component, licensesOf, packageUrl } from "./component.ts";

type Locked = {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
};
export type Lock = { readonly packages: Readonly<Record<string, Locked>> };

function packageIn(folder: string, locked?: Locked): Component {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return npmComponent(name, version, locked?.license ?? license?.type ?? license, locked?.integrity);
}

/**
 * The npm packages of the program: in the bundles of dist/ by their source maps, in the page, and node-pty's native
 * module.
 */
export function applicationPackages(root: string): Component[] {
  const lock: Lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const maps = readdirSync(join(root, "dist")).filter((name) => name.endsWith(".map"));
  const sources = maps.flatMap((name) => JSON.parse(readFileSync(join(root, "dist", name), "utf8")).sources);
  const folders = ["node_modules/node-pty", ...packagesOf(sources)];
  return [
    ...folders.map((path) => packageIn(join(root, path), lock.packages[path])),
    ...bundledPackages(join(root, "src/web"), lock),
  ];
}

/** The folders of the packages that these modules belong to, such as "node_modules/@scope/name". */
export function packagesOf(modules: readonly string[]): readonly string[] {
  const folders = modules.map(
    (path) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders)].filter((folder) => folder !== undefined).sort();
}

/** The imports of the sources in `folder`, and their dependencies: the bundle consists of these. */
function bundledPackages(folder: string, lock: Lock): Component[] {
  const wanted = importedPackages(folder);
  const found = new Map<string, Component>();
  for (const name of wanted) {
    const locked = lock.packages[`node_modules/${name}`];
    if (locked?.version === undefined || found.has(name)) continue;
    found.set(name, npmComponent(name, locked.version, locked.license, locked.integrity));
    wanted.push(...Object.keys(locked.dependencies ?? {}));
  }
  return [...found.values()];
}

function npmComponent(name: string, version: string, license?: string, integrity?: string): Component {
  const purl = packageUrl("npm", name, version);
  const licenses = licensesOf(license);
  const hashes = integrity?.split(" ").map((part) => {
    const [algorithm = "", digest = ""] = part.split("-");
    return {
      alg: algorithm.replace("sha", "SHA-"),
      content: Buffer.from(digest, "base64").toString("hex"),
    };
  });
  return {
    ...{ type: "library", "bom-ref": purl, name, version, purl },
    ...(hashes && { hashes }),
    ...(licenses && { licenses }),
  };
}

function importedPackages(folder: string): string[] {
  const names = new Set<string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!/\.(tsx?|css)$/.test(entry.name)) continue;
    const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
    for (const [, name] of text.matchAll(/(?:from|import)\s*\(?\s*"((?:@[\w.-]+\/)?[\w-][\w.-]*)/g)) {
      if (name !== undefined) names.add(name);
    }
  }
  return [...names];
}
