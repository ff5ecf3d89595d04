import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { GitProgram } from "../../../src/git/git.ts";
import { MAX_GIT_PROCESSES } from "../../../src/git/git-limits.ts";
import { type GitCommand, type GitLimits, type GitRun, runGit } from "../../../src/git/git-process.ts";
import { GitRoom } from "../harness/git-repository.ts";

let room: GitRoom;
beforeAll(async () => {
  room = await GitRoom.make();
});
afterAll(() => room?.[Symbol.asyncDispose]());

function shell(text: string, more: Partial<GitLimits & GitCommand> = {}): Promise<GitRun> {
  const command = { file: "sh", args: ["-c", text], env: room.env, ...more };
  return runGit(command, { timeoutMs: 20_000, maxBytes: 1024 * 1024, ...more });
}

/** Resolves when the process whose id is in that file has ended. */
async function ended(file: string): Promise<void> {
  const pid = Number(await readFile(file, "utf8"));
  await eventually(async () => (existsSync(`/proc/${pid}/cmdline`) ? undefined : true), `the end of ${pid}`);
}

describe("a process", () => {
  test("is told with both its streams and its code", async () => {
    expect(await shell("printf 'out\\0put'; echo ü >&2; exit 3")).toEqual({
      ...{ stdout: "out\0put", stderr: "ü\n", code: 3 },
    });
    expect(await shell("kill -9 $$")).toMatchObject({ code: -1 });
  });

  test.concurrent("that takes too long is ended, and everything that it has started", async () => {
    const pid = room.at("slow.pid");
    const slow = shell(`sh -c 'echo $$ > ${pid}; trap "" TERM; while :; do sleep 1; done' & wait`, {
      timeoutMs: 15_000,
    });
    await expect(slow).rejects.toMatchObject({ code: "git_timeout" });
    await ended(pid);
  });

  test.concurrent("that ignores the first signal is ended by the second", async () => {
    const pid = room.at("deaf.pid");
    const deaf = shell(`echo $$ > ${pid}; trap "" TERM; while :; do sleep 1; done`, { timeoutMs: 15_000 });
    await expect(deaf).rejects.toMatchObject({ code: "git_timeout" });
    await ended(pid);
  });

  test("that says too much is ended", async () => {
    await expect(shell("yes", { maxBytes: 100_000 })).rejects.toMatchObject({ code: "git_failed" });
    await expect(shell("yes >&2", { maxBytes: 100_000 })).rejects.toMatchObject({ code: "git_failed" });
  });

  test("that nobody waits for any more is ended, or not even begun", async () => {
    const stop = new AbortController();
    const waiting = shell("sleep 60", { signal: stop.signal });
    stop.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(shell("exit 0", { signal: stop.signal })).rejects.toThrow("gone");
  });

  test("is not waited for by those that it leaves behind", async () => {
    const began = performance.now();
    expect(await shell("sleep 30 & echo done")).toMatchObject({ stdout: "done\n", code: 0 });
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("that there is not is told by name", async () => {
    const missing = shell("", { file: "no-such-program" });
    await expect(missing).rejects.toMatchObject({ code: "git_unavailable" });
  });

  test("that is told more than the system takes has failed", async () => {
    const long = { ...room.env, LONG: "x".repeat(4 * 1024 * 1024) };
    await expect(shell("exit 0", { env: long })).rejects.toMatchObject({ code: "git_failed" });
  });

  test("has no terminal to ask at", async () => {
    expect(await shell("exec 2>/dev/null; echo x > /dev/tty && echo asked")).not.toMatchObject({
      stdout: "asked\n",
    });
  });
});

describe("git", () => {
  test("gets nothing of the server's own: what steers git, and its secrets", async () => {
    const env = {
      ...room.env,
      GIT_DIR: "/x",
      GIT_SSH_COMMAND: "x",
      TTYHQ_PASSWORD: "x",
      SERVICE_PASSWORD: "x",
      MINE: "y",
    };
    const repository = await room.repository("env");
    const seen = room.at("seen");
    await room.script(join(repository, ".git/hooks/pre-commit"), `env > ${seen}`);
    const git = new GitProgram({ env }).at(repository);
    await git.write("commit", "--quiet", "--allow-empty", "-m", "x");
    const names = (await readFile(seen, "utf8")).split("\n").map((line) => line.split("=")[0]);
    expect(names).toContain("MINE");
    for (const name of ["TTYHQ_PASSWORD", "SERVICE_PASSWORD", "GIT_SSH_COMMAND"])
      expect(names).not.toContain(name);
  });

  test("asks nobody for a password", async () => {
    const repository = await room.repository("asks");
    const asked = room.at("asked");
    const program = await room.script(room.at("askpass"), `touch ${asked}; echo x`);
    await room.git(repository, "config", "core.askPass", program);
    await room.git(
      repository,
      "config",
      "alias.fill",
      "!printf 'protocol=https\\nhost=x\\n\\n' | git credential fill",
    );
    const fill = await room.program.at(repository).tryWrite(["fill"]);
    expect(fill.code).not.toBe(0);
    expect(fill.stderr).toContain("terminal prompts disabled");
    expect(existsSync(asked)).toBe(false);
  });

  test("runs so many times at once, and no more", async () => {
    const place = room.at("slots");
    await room.write(join(place, "log"), "");
    // Each waits until the maximum number of them runs.
    const others = `until [ $(grep -c in ${place}/log) -ge ${MAX_GIT_PROCESSES} ]; do sleep 0.1; done`;
    const script = `echo in >> ${place}/log; ${others}; sleep 0.2; echo out >> ${place}/log`;
    const git = room.program.at("/");
    await Promise.all(Array.from({ length: 3 * MAX_GIT_PROCESSES }, () => git.script(script, [])));
    let [running, most] = [0, 0];
    for (const line of (await readFile(join(place, "log"), "utf8")).trim().split("\n")) {
      running += line === "in" ? 1 : -1;
      most = Math.max(most, running);
    }
    expect([running, most]).toEqual([0, MAX_GIT_PROCESSES]);
  });

  test("leaves no lock and no trace where it only looks", async () => {
    const repository = await room.repository("looks");
    await room.write(join(repository, "a.txt"), "one\ntwo\nthree\n");
    const before = (await stat(join(repository, ".git/index"))).mtimeMs;
    await room.program.at(repository).read("status");
    expect((await stat(join(repository, ".git/index"))).mtimeMs).toBe(before);
    expect((await room.program.at(repository).try("rev-parse", "--verify", "nope")).code).toBe(128);
    await expect(room.program.at(repository).read("rev-parse", "--verify", "nope")).rejects.toMatchObject({
      code: "git_failed",
      details: { exitCode: 128 },
    });
  });
});
