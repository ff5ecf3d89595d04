#!/usr/bin/env node
// Entry point: the only file that reads arguments, environment and standard streams, and passes them on as values.
import { readFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MIN_NODE_MAJOR = 24;
/**
 * Garbage collection of a service. Output is held in buffers outside the heap, and V8 by default collects the whole heap for
 * each 14 MB of them. A larger growth factor halves CPU time. Young objects are few and die early, so a small young generation
 * saves 13 MB per process.
 */
const HEAP_FLAGS = ["--heap-growing-percent=400", "--semi-space-growth-factor=1"];

async function main(): Promise<number> {
  const major = Number.parseInt(process.versions.node, 10);
  if (major < MIN_NODE_MAJOR) {
    process.stderr.write(
      `ttyhq: Node ${MIN_NODE_MAJOR} or newer is required, this is ${process.version}: older versions lose the end of a program's output.\n` +
        "In a checkout, `npm start` and the other npm scripts use the right version.\n",
    );
    return 1;
  }
  // Compiled code is kept beside the bundles, where this user may write there: an eighth of a server's start.
  if (!import.meta.filename.endsWith(".ts")) enableCompileCache(join(import.meta.dirname, ".cache"));
  if (process.argv[2] === "git" && (await reportGitEvent())) return 0;
  // Imported here because an older Node cannot parse these files. Server code is loaded only by commands that start a server.
  const { runCli } = await import("./cli/program.ts");
  const user = whoami();
  const { stdout, stderr } = process;
  // A copy: Node asks the system for each variable of its own, and every new session takes them all.
  const env = { ...process.env };
  const version = packageVersion();
  const context = {
    ...{ env, stdout, stderr, version, node: process.execPath, main: fileURLToPath(import.meta.url) },
    account: {
      user: user.username,
      home: env.HOME ?? user.homedir,
      shell: env.SHELL ?? user.shell ?? "/bin/sh",
    },
    isRoot: process.getuid?.() === 0,
    hostname: hostname(),
    pageDir: fileURLToPath(new URL("../dist/web", import.meta.url)),
  };
  return runCli({
    ...{ env, stdout, stderr, version, argv: process.argv.slice(2), cwd: process.cwd() },
    // Node opens it when it is first read, which few commands do.
    get stdin() {
      return process.stdin;
    },
    ...{ home: context.account.home, user: user.username, hostname: context.hostname },
    program: { node: context.node, main: context.main },
    startServer: async (config) => (await loadService()).startServer(config, context),
    startSessionHost: async (config) => (await loadService()).startSessionHost(config, context),
    reportFaults: ({ warning, uncaught }) => {
      process.removeAllListeners("warning");
      process.on("warning", warning);
      process.on("uncaughtException", (error) => {
        uncaught(error);
        process.exit(1);
      });
    },
    ensureHost: async (config) => (await import("./app.ts")).ensureSessionHost(config, context),
  });
}

/** V8 rejects code that was compiled and cached under other flags, even Node's own: they are set when most code is loaded. */
async function loadService(): Promise<typeof import("./app.ts")> {
  const [app, { setFlagsFromString }] = await Promise.all([import("./app.ts"), import("node:v8")]);
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
  return app;
}

/** Git's hooks call this, so it loads nothing else. False for any other command. */
async function reportGitEvent(): Promise<boolean> {
  const { hookEvent, tellServer } = await import("./cli/commands/follow/event.ts");
  const gitEvent = hookEvent(process.argv.slice(2));
  if (gitEvent === undefined) return false;
  await tellServer(gitEvent, process.cwd());
  return true;
}

/** A container may run as a uid without a user name. */
function whoami(): { readonly username: string; readonly homedir: string; readonly shell: string | null } {
  try {
    return userInfo();
  } catch {
    return { username: String(process.getuid?.() ?? "nobody"), homedir: "/", shell: null };
  }
}

function packageVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { version }: { version?: unknown } = JSON.parse(text);
  return typeof version === "string" ? version : "0.0.0";
}

void main().then((exitCode) => {
  // All work is done; exit without waiting for idle connections, timers and output that nobody reads.
  process.exit(exitCode);
});
