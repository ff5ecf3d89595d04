#!/usr/bin/env node
// From the process to values: the one place that reads argv, the environment and the standard streams.
import { readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

const MIN_NODE_MAJOR = 24;
/**
 * How V8 keeps house. Output passes through as buffers outside of the heap, and by V8's own measure each 14 MB of it cost
 * a collection of the whole heap: letting it grow more between two saves half of all CPU time. Young objects are few and
 * die at once: a small space for them saves 13 MB of memory in each process.
 */
const HEAP_FLAGS = ["--heap-growing-percent=400", "--semi-space-growth-factor=1"];

async function main(): Promise<number> {
  const major = Number.parseInt(process.versions.node, 10);
  if (major < MIN_NODE_MAJOR) {
    process.stderr.write(
      `ttyhq: Node ${MIN_NODE_MAJOR} or newer is needed, this is ${process.version}: older ones lose the end of a program's output.\n` +
        "In a checkout `npm start` and every other npm script bring the right one.\n",
    );
    return 1;
  }
  const { hookEvent, tellServer } = await import("./cli/commands/follow/event.ts");
  const told = hookEvent(process.argv.slice(2));
  if (told !== undefined) {
    await tellServer(told, process.cwd());
    return 0;
  }
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
  // Only now: an older Node could not even read these. A server is loaded for those who start one.
  const { runCli } = await import("./cli/program.ts");
  const user = whoami();
  const { env, stdin, stdout, stderr } = process;
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
    ...{ env, stdin, stdout, stderr, version, argv: process.argv.slice(2), cwd: process.cwd() },
    ...{ home: context.account.home, user: user.username, hostname: context.hostname },
    program: { node: context.node, main: context.main },
    startServer: async (config) => (await import("./app.ts")).startServer(config, context),
    startSessionHost: async (config) => (await import("./app.ts")).startSessionHost(config, context),
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

/** Containers may run as a number that no user has. */
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

process.exitCode = await main();
// What is left are connections and timers of others; nothing that was asked for is still to be done.
if (!process.stdout.writableNeedDrain) process.exit();
