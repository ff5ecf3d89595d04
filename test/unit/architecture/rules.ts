import { isBuiltin } from "node:module";
import { posix } from "node:path";
import type { Import, Source } from "./source.ts";
import {
  BROWSER_LAYERS,
  EMPTY_WORDS,
  ENVIRONMENT_READERS,
  LAYERS,
  type Layer,
  PACKAGE_IMPORTERS,
} from "./table.ts";

/** One line for whoever has to mend it: file, line, what stands there, the rule. */
type Rule = (sources: readonly Source[]) => string[];

/** Every rule under the sentence that it holds. */
export const RULES: Readonly<Record<string, Rule>> = {
  "every import goes down the table of layers": layering,
  "each package is imported by its files alone": packages,
  "no file imports itself by a detour": cycles,
  "what runs in a browser uses nothing of Node": browser,
  "relative imports name a file of src with its extension": specifiers,
  "no file is a barrel, none has a default export": exportsOf,
  "environment and arguments are read in main.ts alone": environment,
  "file names are kebab-case nouns": names,
};

function layering(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const layer = layerOf(source.path);
    if (layer === undefined) return [`${source.path} has no place in the table of layers`];
    return source.imports.flatMap((found) => {
      const target = targetOf(source, found);
      if (target === undefined) return [];
      const imported = layerOf(target);
      if (imported === undefined || mayImport(layer, imported, found)) return [];
      const only = layer.types?.includes(imported.name) ? `only types of ${imported.name}` : allowed(layer);
      return [`${at(source, found)} imports ${target}: ${layer.name} may import ${only}`];
    });
  });
}

function mayImport(layer: Layer, imported: Layer, { kind }: Import): boolean {
  if (layer === imported || layer.imports.includes(imported.name)) return true;
  return kind === "type" && layer.types?.includes(imported.name) === true;
}

function allowed(layer: Layer): string {
  return layer.imports.length === 0 ? "nothing of src but itself" : `only ${layer.imports.join(", ")}`;
}

function packages(sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((found) => {
      const name = packageOf(found);
      if (name === undefined) return [];
      const places = PACKAGE_IMPORTERS[name];
      if (places === undefined)
        return [`${at(source, found)} imports ${name}: the table of packages does not have it`];
      if (places.some((place) => isIn(source.path, place))) return [];
      return [`${at(source, found)} imports ${name}: only ${places.join(" and ")} may`];
    }),
  );
}

function cycles(sources: readonly Source[]): string[] {
  const graph = new Map(sources.map((source) => [source.path, modulesOf(source)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) found.push(`${[...trail.slice(start), path].join(" imports ")}: a cycle`);
    if (start !== -1 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return found;
}

function browser(sources: readonly Source[]): string[] {
  const reasons = browserReasons(sources);
  return sources.flatMap((source) => {
    const reason = reasons.get(source.path);
    if (reason === undefined) return [];
    const modules = source.imports.flatMap((found) =>
      found.specifier !== undefined && isBuiltin(found.specifier)
        ? [`${at(source, found)} imports ${found.specifier}: ${reason}`]
        : [],
    );
    const globals = source.nodeGlobals.map(
      ({ what, line }) => `${source.path}:${line} uses ${what}: ${reason}`,
    );
    return [...modules, ...globals];
  });
}

/** Why each file that runs in a browser does so. */
function browserReasons(sources: readonly Source[]): Map<string, string> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const reasons = new Map<string, string>();
  const visit = (source: Source | undefined, reason: string): void => {
    if (source === undefined || reasons.has(source.path)) return;
    reasons.set(source.path, reason);
    for (const path of modulesOf(source)) {
      visit(byPath.get(path), `it runs in a browser, because ${source.path} imports it`);
    }
  };
  for (const source of sources) {
    const layer = layerOf(source.path)?.name;
    if (layer !== undefined && BROWSER_LAYERS.includes(layer)) visit(source, `${layer} runs in a browser`);
  }
  return reasons;
}

function specifiers(sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((found) => {
      const { specifier, kind } = found;
      if (specifier === undefined)
        return [`${at(source, found)} imports something computed: nobody can check it`];
      if (!isRelative(specifier) || isNative(specifier) || kind === "thread") return [];
      const target = posix.join(posix.dirname(source.path), specifier);
      if (!isSource(target)) return [`${at(source, found)} imports ${target}: it is not in src`];
      if (/\.tsx?$/.test(specifier)) return [];
      if (isIn(source.path, "src/web/") && /\.(css|svg)$/.test(specifier)) return [];
      return [`${at(source, found)} imports ${specifier}: relative imports end in .ts or .tsx`];
    }),
  );
}

function exportsOf(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => [
    ...source.badExports.map(({ what, line }) => {
      const why = what === "*" ? "no barrels" : "no default exports";
      return `${source.path}:${line} exports ${what}: ${why}`;
    }),
    ...(/(^|\/)index\.tsx?$/.test(source.path) ? [`${source.path} is an index: no barrels`] : []),
  ]);
}

function environment(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !ENVIRONMENT_READERS.includes(path))
    .flatMap(({ path, processReads }) =>
      processReads.map(
        ({ what, line }) => `${path}:${line} reads ${what}: only ${ENVIRONMENT_READERS[0]} may`,
      ),
    );
}

function names(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path }) => {
    const name = posix.basename(path).replace(/(\.d)?\.tsx?$/, "");
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return [`${path} is not named in kebab-case`];
    const empty = name.split("-").find((word) => EMPTY_WORDS.includes(word));
    return empty === undefined ? [] : [`${path} has "${empty}" in its name: name the thing`];
  });
}

function at(source: Source, { line }: { readonly line: number }): string {
  return `${source.path}:${line}`;
}

function layerOf(path: string): Layer | undefined {
  const fits = LAYERS.flatMap((layer) =>
    layer.at.filter((place) => isIn(path, place)).map((place) => ({ layer, place })),
  );
  return fits.sort((a, b) => b.place.length - a.place.length)[0]?.layer;
}

/** The file of src that an import means, or undefined for packages and for what is no source. */
function targetOf(source: Source, { specifier, kind }: Import): string | undefined {
  if (specifier === undefined || !isRelative(specifier)) return undefined;
  const target = posix.join(posix.dirname(source.path), specifier);
  // Threads are started from source as .ts and, once built, as .js.
  const file = kind === "thread" ? target.replace(/\.js$/, ".ts") : target;
  return isSource(file) && /\.tsx?$/.test(file) ? file : undefined;
}

/** A file of the program or of a package of this project. */
function isSource(path: string): boolean {
  return /^(?:packages\/[^/]+\/)?src\//.test(path);
}

function modulesOf(source: Source): string[] {
  return source.imports.flatMap((found) => (found.kind === "thread" ? [] : (targetOf(source, found) ?? [])));
}

function packageOf({ specifier, kind }: Import): string | undefined {
  if (specifier === undefined || kind === "thread") return undefined;
  if (isNative(specifier)) return posix.basename(specifier);
  if (isRelative(specifier)) return undefined;
  if (isBuiltin(specifier)) return undefined;
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
}

function isRelative(specifier: string): boolean {
  return /^\.{0,2}\//.test(specifier);
}

function isNative(specifier: string): boolean {
  return specifier.endsWith(".node");
}

function isIn(path: string, place: string): boolean {
  return place.endsWith("/") ? path.startsWith(place) : path === place;
}
