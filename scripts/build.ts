// Builds dist/: the programs by tsc, the page by Vite. A build that fails leaves the old dist/ as it was.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceFingerprint } from "./fingerprint.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Holds the fingerprint of the sources that a dist/ was built from. */
export const STAMP = ".built";

const NATIVE_MODULE = "build/Release/ttyhq.node";

/** Builds dist/ anew and puts it in the place of the old one. Throws when anything does not build. */
export async function build(): Promise<void> {
  const started = performance.now();
  await mustExist(NATIVE_MODULE, "`npm ci` makes it (it needs python3, make and g++)");
  await mustExist("src/main.ts", "without it there is nothing to build");
  // Taken before the sources are read, so that a change made meanwhile is seen by the next build.
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

async function buildPrograms(out: string): Promise<void> {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const compiler = spawn(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", out], {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = await once(compiler, "exit");
  if (code !== 0) throw new Error("the programs do not compile: see what tsc says above");
}

async function buildPage(outDir: string): Promise<void> {
  if (!(await exists("src/web/index.html"))) return;
  // Loaded only here: `npm start` need not wait for Vite where there is nothing to build.
  const [vite, { default: pageConfig }] = await Promise.all([import("vite"), import("../vite.config.ts")]);
  const build = { ...pageConfig.build, outDir, emptyOutDir: false };
  await vite.build({ ...pageConfig, build, configFile: false, logLevel: "warn" });
}

/** Waits for both, so that nothing of a failed build is still writing afterwards; the first failure is thrown. */
async function both(...parts: Promise<void>[]): Promise<void> {
  await Promise.allSettled(parts);
  await Promise.all(parts);
}

/** Two renames: whoever runs from the old folder meets a gap of microseconds, never half a build. */
async function replace(target: string, made: string): Promise<void> {
  const old = `${made}.old`;
  // Another build may put its folder there between the two renames; then that one is moved away too.
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

/** Runs a build as a command: one line of error and exit code 1 where it fails. */
export async function runBuild(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await runBuild(build);
