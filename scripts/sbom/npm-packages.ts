// Packages of npm: those in a folder node_modules, and those that a program was bundled from.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Component, licensesOf, packageUrl } from "./component.ts";

type Locked = {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
};
export type Lock = { readonly packages: Readonly<Record<string, Locked>> };

/** Everything in `node_modules` of `root`, at any depth; hashes are those of the lock. */
export function installedPackages(root: string, lock: Lock = { packages: {} }): Component[] {
  return packageFolders(root, "node_modules").map((path) => packageIn(join(root, path), lock.packages[path]));
}

/** The package that lies in a folder, be that one of a `node_modules` or not. */
export function packageIn(folder: string, locked?: Locked): Component {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return npmComponent(name, version, locked?.license ?? license?.type ?? license, locked?.integrity);
}

/** What of npm is in the program: in the bundles of dist/ by their source maps, in the page, and node-pty's native module. */
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

/** What the sources in `folder` import, and what that needs in turn: of these the bundle is made. */
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

/** Folders below `root` that hold a package, such as "node_modules/@scope/name/node_modules/other". */
function packageFolders(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .flatMap(({ name }) => {
      const path = `${folder}/${name}`;
      if (name.startsWith("@")) return packageFolders(root, path);
      const own = existsSync(join(root, path, "package.json")) ? [path] : [];
      return [...own, ...packageFolders(root, `${path}/node_modules`)];
    });
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
