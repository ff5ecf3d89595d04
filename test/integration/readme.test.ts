// Follows the README's instructions literally.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtempDisposable, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { hostHealth } from "../../src/remote/host-process.ts";
import { ask } from "./harness/http.ts";
import { bearer } from "./harness/password-server.ts";
import { killIfThere } from "./harness/processes.ts";
import { Program } from "./harness/program.ts";
import { IN_FULL } from "./harness/scale.ts";
import { gone, TestServer } from "./harness/test-server.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const INSTALL_TIMEOUT_MS = 240_000;
const START_TIMEOUT_MS = 60_000;
/** Files that a clone does not have. */
const MADE_HERE = new Set([
  ...["node_modules", "dist", "build", "coverage", ".cache", ".git", "bench/.build", "prebuilds", "release"],
]);
const LINK = /log in with this link, once and within 10 minutes: (\S+)\s/;

test("the program in docs/protocol.md follows a session over a kill -9 of the server", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-readme-"));
  await using server = await TestServer.start({ asProcess: true, args: ["--login-link"] });
  const [, program = ""] =
    /## A client in 25 lines\n[\s\S]*?```js\n([\s\S]*?)```/.exec(
      await readFile(join(ROOT, "docs/protocol.md"), "utf8"),
    ) ?? [];
  const file = join(directory.path, "follow.mjs");
  await writeFile(file, program);
  const child = spawn(process.execPath, [file, server.loginLink], { stdio: ["ignore", "pipe", "inherit"] });
  const begun = once(child.stdout, "data");
  const done = Promise.all([once(child, "exit"), text(child.stdout), begun.then(() => server.restart())]);
  const [exit, output] = await withDeadline(done, START_TIMEOUT_MS, "the end of the program");
  expect(exit).toEqual([0, null]);
  expect(output.split("\r\n")).toEqual([ADATE, ADATE, ADATE, ""]);
});

const ADATE = expect.stringMatching(/^\D+.*\d\d:\d\d:\d\d.*\d{4}$/);

test("npm ci && npm start serve from a fresh checkout; Ctrl-C stops the server and no program", {
  timeout: INSTALL_TIMEOUT_MS + 3 * START_TIMEOUT_MS,
}, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-readme-"));
  const checkout = await clone(directory.path);
  const home = join(directory.path, "home");
  await mkdir(home);
  await (IN_FULL ? install : takePackages)(checkout);
  await using host = new HostOf(home);
  const session = await firstStart(checkout, home);
  const hostPid = await host.pid();
  await using again = startIn(checkout, home);
  const { url } = await loginLink(again);
  expect(again.text).not.toContain("built dist/");
  expect(await host.pid()).toBe(hostPid);
  const token = await logIn(url);
  const { json } = await ask(url.origin, `/api/sessions/${session.id}`, { headers: bearer(token) });
  expect(json).toMatchObject({ status: "running", pid: session.pid });
});

test("npx ttyhq in a checkout uses the native modules that npm ci built, and leaves them alone", {
  timeout: 3 * START_TIMEOUT_MS,
}, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-readme-"));
  const checkout = await clone(directory.path);
  await cp(join(ROOT, "dist"), join(checkout, "dist"), { recursive: true });
  await takePackages(checkout);
  const built = join(checkout, "build/Release/ttyhq.node");
  const before = await stat(built);
  const env = { ...envOfAShell(), PATH: pathOfAShell(), HOME: directory.path };
  const npx = spawn("npx", ["ttyhq", "--version"], {
    cwd: checkout,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [[code], version] = await Promise.all([once(npx, "exit"), text(npx.stdout)]);
  expect([code, version]).toEqual([0, `${manifest.version}\n`]);
  expect((await stat(built)).ino).toBe(before.ino);
});

/** Copies the files that a clone has into a new folder. Returns its path. */
async function clone(directory: string): Promise<string> {
  const checkout = join(directory, "checkout");
  await cp(ROOT, checkout, { recursive: true, filter: (from) => !MADE_HERE.has(relative(ROOT, from)) });
  return checkout;
}

/** Logs in, starts a program, presses Ctrl-C. Returns the session. */
async function firstStart(checkout: string, home: string): Promise<{ id: string; pid: number }> {
  await using npm = startIn(checkout, home);
  const { url } = await loginLink(npm);
  expect(npm.text).toContain("built dist/");
  expect(url.hostname).toBe("127.0.0.1");
  expect((await ask(url.origin, "/")).headers["content-type"]).toContain("text/html");
  const token = await logIn(url);
  const { json, status } = await ask(url.origin, "/api/sessions", {
    headers: bearer(token),
    body: { command: ["cat"] },
  });
  expect(status).toBe(201);
  const said = npm.text;
  npm.pty.write(new TextEncoder().encode("\u0003"));
  await withDeadline(npm.ended, START_TIMEOUT_MS, "the end of npm start");
  expect(npm.text.slice(said.length)).toMatch(/^[\^C\s]*(?:\S+ info drain(?:ing|ed)[^\n]*\s*)*$/);
  await expect(ask(url.origin, "/livez")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  return json;
}

function startIn(checkout: string, home: string): Program {
  const env = [`HOME=${home}`, "TTYHQ_PORT=0", `PATH=${pathOfAShell()}`];
  return new Program("sh", ["-c", 'cd "$0" && exec env "$@" npm start', checkout, ...env]);
}

async function loginLink(npm: Program): Promise<{ readonly url: URL }> {
  const [, link = ""] = await withDeadline(npm.shows(LINK), START_TIMEOUT_MS, "the login link");
  return { url: new URL(link) };
}

async function logIn(link: URL): Promise<string> {
  const ticket = link.hash.replace("#login=", "");
  const { json } = await ask(link.origin, "/api/auth/token", { body: { ticket } });
  return json.token;
}

async function install(checkout: string): Promise<void> {
  const npm = spawn("npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"], {
    cwd: checkout,
    env: { ...envOfAShell(), PATH: pathOfAShell() },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: INSTALL_TIMEOUT_MS,
  });
  const [[code], stdout, stderr] = await Promise.all([once(npm, "exit"), text(npm.stdout), text(npm.stderr)]);
  if (code !== 0) throw new Error(`npm ci ended with ${code}:\n${stdout}${stderr}`);
}

/**
 * `npm test` itself needs an `npm ci`, so a short run uses its result: the packages and the native module of this
 * checkout.
 */
async function takePackages(checkout: string): Promise<void> {
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  await cp(join(ROOT, "build/Release/ttyhq.node"), join(checkout, "build/Release/ttyhq.node"));
}

/** Without npm's additions for the script that runs these tests. */
function envOfAShell(): NodeJS.ProcessEnv {
  const isOfNpm = (name: string) => /^npm_(?!config_nodedir$)|^(INIT_CWD|NODE|NODE_ENV|VITEST.*)$/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfNpm(name)));
}

function pathOfAShell(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.filter((folder) => !/node_modules/.test(folder)).join(delimiter);
}

/** The session host that `npm start` leaves behind in a home directory. Disposal ends it. */
class HostOf implements AsyncDisposable {
  readonly #socket: string;

  constructor(home: string) {
    this.#socket = join(home, ".ttyhq", "host.sock");
  }

  async pid(): Promise<number | undefined> {
    return (await hostHealth(this.#socket))?.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.pid();
    if (pid === undefined) return;
    killIfThere(pid, "SIGTERM");
    await gone(pid);
  }
}
