// Builds dist/: the programs by Rolldown, the page by Vite. A failed build leaves the old dist/ unchanged.
import {
  access,
  chmod,
  glob,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip as gzipCompress } from "node:zlib";
import type { OutputOptions, Plugin } from "rolldown";
import { PROGRAMS } from "../src/lib/os/installation.ts";
import { sourceFingerprint } from "./fingerprint.ts";
import { packagesOf } from "./sbom/npm-packages.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Holds the fingerprint of the sources of a dist/. */
export const STAMP = ".built";

const NATIVE_MODULE = "build/Release/ttyhq.node";

const brotli = promisify(brotliCompress);
const gzip = promisify(gzipCompress);

/**
 * Builds dist/ and replaces the old one. Throws if any part does not build. The bundlers are loaded on demand, so that
 * `npm start` does not wait for them if nothing has to be built.
 */
export async function build(): Promise<void> {
  const started = performance.now();
  await mustExist(NATIVE_MODULE, "`npm ci` makes it (it needs python3, make and g++)");
  await mustExist("src/main.ts", "without it there is nothing to build");
  // Taken before the sources are read, so that the next build notices changes made meanwhile.
  const fingerprint = await sourceFingerprint(ROOT);
  await mkdir(join(ROOT, ".cache"), { recursive: true });
  const made = await mkdtemp(join(ROOT, ".cache/build-"));
  try {
    await both(buildPrograms(made), buildPage(join(made, "web")));
    await chmod(join(made, "main.js"), 0o755);
    await chmod(made, 0o755);
    await writeFile(join(made, STAMP), fingerprint);
    await replace(join(ROOT, "dist"), made);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  console.log(`built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/**
 * Chunks of the command line and the server. Each has these modules and their imports, except for those of a chunk
 * above it. Other modules that are loaded on demand, such as commands, have chunks of their own.
 */
const LAYERS = [
  { name: "command-line", test: /src.cli.program\.ts$/, priority: 6 },
  { name: "client", test: /src.cli.query\.ts$|src.lib.os.own-variables\.ts$/, priority: 5 },
  { name: "endpoints", test: /src.protocol.endpoints.endpoints\.ts$/, priority: 4 },
  { name: "options", test: /src.cli.configuration\.ts$/, priority: 3 },
  { name: "log", test: /src.cli.stderr-format\.ts$/, priority: 2 },
  { name: "config", test: /src.config.config\.ts$/, priority: 1 },
  { name: "uplink", test: /src.remote.uplink\.ts$/, priority: 1 },
  { name: "server", test: /src.app\.ts$/, priority: 0 },
];

/**
 * CommonJS, because an ES module that imports node:http loads all its exports, fetch included: 20 ms and 6 MB of each
 * process. Nothing is minified, so that stack traces show the names of functions.
 */
const OUTPUT: OutputOptions = {
  ...{ format: "cjs", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
  ...{ sourcemap: true, sourcemapExcludeSources: true },
  // Built two folders below the root and moved up to dist/.
  sourcemapPathTransform: (path) => path.replace("../../", "../"),
  comments: { legal: true, annotation: false, jsdoc: false },
  // V8 stores a file with a character beyond Latin-1 in two bytes per character, and reads it slower.
  charset: "ascii",
};

/**
 * Express loads these at its start for bodies, queries and files, which http/ handles itself: 900 KB, and a tenth of a
 * session host's start. Commander loads the modules that start processes, for commands that are programs of their own.
 */
const UNUSED = /^(?:body-parser|mime-types|qs|send|serve-static)$/;
const WITHOUT_UNUSED: Plugin = {
  name: "without-unused-packages",
  resolveId: (id, importer) => {
    const isUnused = UNUSED.test(id) || (id === "node:child_process" && importer?.includes("/commander/"));
    return isUnused ? "\0unused" : null;
  },
  load: (id) => (id === "\0unused" ? "export default {};" : null),
};

/** One bundle for each worker. The command line and the server share chunks, because most commands need few of them. */
async function buildPrograms(dir: string): Promise<void> {
  const { rolldown } = await import("rolldown");
  const bundles = Object.entries(PROGRAMS).map(async ([name, source]) => {
    const input = { [name]: join(ROOT, "src", source) };
    const plugins = [WITHOUT_UNUSED];
    await using bundle = await rolldown({ cwd: ROOT, platform: "node", tsconfig: false, input, plugins });
    return await bundle.write({ ...OUTPUT, dir, codeSplitting: name === "main" && { groups: LAYERS } });
  });
  const chunks = (await Promise.all(bundles)).flatMap(({ output }) => output);
  const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  await writeFile(
    join(dir, "licenses.txt"),
    (await Promise.all(packagesOf(modules).map(licenseOf))).join("\n"),
  );
  await writeFile(join(dir, "package.json"), '{ "type": "commonjs" }\n');
}

/** The licence text of a bundled package. */
async function licenseOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(ROOT, folder, "package.json"), "utf8"));
  const files = await Array.fromAsync(glob("LICEN[CS]E*", { cwd: join(ROOT, folder) }));
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, folder, file), "utf8")));
  return [`${name} ${version}: ${license}`, ...texts].join("\n\n");
}

async function buildPage(outDir: string): Promise<void> {
  if (!(await exists("src/web/index.html"))) return;
  const [vite, { default: pageConfig }] = await Promise.all([import("vite"), import("../vite.config.ts")]);
  const build = { ...pageConfig.build, outDir, emptyOutDir: false };
  await vite.build({ ...pageConfig, build, configFile: false, logLevel: "warn" });
  await compress(outDir);
}

/** Smaller savings are not worth the server's memory: fonts are compressed already. */
const MAX_COMPRESSED_RATIO = 0.95;

/** Writes `.br` and `.gz` beside each file that becomes notably smaller: the server sends them unchanged. */
async function compress(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    for (const [ending, compressed] of [
      [".br", await brotli(bytes)],
      [".gz", await gzip(bytes, { level: 9 })],
    ] as const) {
      if (compressed.length < bytes.length * MAX_COMPRESSED_RATIO)
        await writeFile(`${path}${ending}`, compressed);
    }
  }
}

/** Waits for both, so that a failed build writes nothing afterwards; throws the first failure. */
async function both(...parts: Promise<void>[]): Promise<void> {
  await Promise.allSettled(parts);
  await Promise.all(parts);
}

/** Two renames: programs that run from the old folder see a gap of microseconds, never half a build. */
async function replace(target: string, made: string): Promise<void> {
  const old = `${made}.old`;
  // Another build may create its folder between the two renames; then that one is moved away too.
  for (let attempt = 1; ; attempt++) {
    await rename(target, old).catch(unless("ENOENT"));
    try {
      await rename(made, target);
      break;
    } catch (error) {
      if (attempt === 5) throw error;
    } finally {
      await rm(old, { recursive: true, force: true });
    }
  }
}

function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error && "code" in error && error.code === code)) throw error;
  };
}

async function mustExist(path: string, advice: string): Promise<void> {
  if (!(await exists(path))) throw new Error(`${path} is missing: ${advice}`);
}

function exists(path: string): Promise<boolean> {
  return access(join(ROOT, path)).then(
    () => true,
    () => false,
  );
}

/** Runs a build as a command: prints one line of error and exits with 1 if it fails. */
export async function runBuild(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await runBuild(build);
