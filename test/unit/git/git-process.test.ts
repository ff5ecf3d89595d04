import { spawn } from "node:child_process";
import { existsSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runGit } from "../../../src/git/git-process.ts";
import { triedWithoutDescriptors } from "../sessions/without-descriptors.ts";
import { until } from "../until.ts";

const ENV = { PATH: process.env.PATH ?? "" };
const LIMITS = { timeoutMs: 60_000, maxBytes: 1_000_000 };

test("a git that the system has no resources for is busy, and runs at the next attempt", async () => {
  const { href } = new URL("../../../src/git/git-process.ts", import.meta.url);
  const before = `
    import { runGit } from "${href}";
    const command = { file: "true", args: [], env: { PATH: process.env.PATH } };
    const run = () => runGit(command, { timeoutMs: 10_000, maxBytes: 1_000 }).then(({ code }) => code, ({ code }) => code);
  `;
  expect(await triedWithoutDescriptors(before, "run()")).toBe("git_busy,0");
});

/** Blocks this thread, so that it handles no events. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function blockUntilEnded(pid: number): void {
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))) block(1);
}

test("a process that is busy when git ends reads all that git has said", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "ttyhq-git-"));
  const [pidFile, go] = ["pid", "go"].map((name) => join(folder.path, name)) as [string, string];
  const script = 'echo $$ >"$1"; while [ ! -e "$2" ]; do sleep 0.01; done; seq 10000';
  const run = runGit({ file: "sh", args: ["-c", script, "sh", pidFile, go], env: ENV }, LIMITS);
  await until(() => existsSync(pidFile) && readFileSync(pidFile, "latin1").endsWith("\n"));
  const pid = Number(readFileSync(pidFile, "latin1"));
  const other = spawn("echo", ["x"], { stdio: ["ignore", "pipe", "ignore"] });
  // Both exit within one turn of the event loop. Git exits while the output of `other` is read, and its own is not.
  other.stdout.once("data", () => {
    writeFileSync(go, "");
    blockUntilEnded(pid);
  });
  other.once("exit", () => block(500));
  blockUntilEnded(other.pid ?? 0);
  const { code, stdout } = await run;
  expect({ code, lines: stdout.split("\n").length - 1 }).toEqual({ code: 0, lines: 10_000 });
});

test("a background program of git does not delay git's output and exit code", async () => {
  const script = "sleep 600 & echo $!; exit 3";
  const { code, stdout } = await runGit({ file: "sh", args: ["-c", script], env: ENV }, LIMITS);
  expect(stdout).toMatch(/^[1-9]\d*\n$/);
  process.kill(Number(stdout), "SIGKILL");
  expect(code).toBe(3);
});
