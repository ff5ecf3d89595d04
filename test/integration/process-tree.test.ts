import { execFile, execFileSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { commandLine, sessionProcesses } from "../../src/sessions/pty/process-tree.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { Program, shell, zombies } from "./harness/program.ts";
import { startUnreadable } from "./harness/unreadable-program.ts";

test("ending a session ends the shell, its children and its jobs, whatever they do about signals", async () => {
  await using program = new Program("bash", ["--norc", "-im"]);
  const script = [
    "sleep 61 &",
    "sh -c 'trap \"\" HUP TERM; sleep 62; sleep 63' &",
    "(sleep 64 & sleep 65) &",
    "sleep 66 & kill -STOP $!",
    "nohup sleep 67 >/dev/null 2>&1 &",
    "sh -c 'sleep 68 & echo jobs are up; wait'\r",
  ];
  program.pty.write(Buffer.from(script.join("\r")));
  await program.shows(/\rjobs are up/);
  // The shell and its jobs; their children may not be running yet.
  expect((await sessionProcesses(program.pty.pid)).length).toBeGreaterThanOrEqual(7);
  expect(await program.end(500)).toEqual([]);
  expect(await sessionProcesses(program.pty.pid)).toEqual([]);
  expect(await program.ended).toMatchObject({ signal: "SIGHUP" });
  expect(zombies()).toEqual([]);
});

test("ending a session takes no longer than the program", async () => {
  await using program = new Program("bash", ["--norc", "-i"]);
  await program.shows(/\$ /);
  // It would be killed after the grace period.
  await program.end(60_000);
  expect(await program.ended).toMatchObject({ signal: "SIGHUP" });
});

test("a shell that had its hangup in the moment before it waits for a key ends at once all the same", async () => {
  // Like readline: the handler sets a flag, which is read between two keys.
  const script = [
    "$SIG{HUP} = sub { $isHungUp = 1 }; $SIG{TERM} = 'IGNORE'; $SIG{WINCH} = sub {};",
    "$| = 1; print 'ready'; 1 until $isHungUp; sysread(STDIN, $key, 1); print 'bye';",
  ];
  await using program = new Program("perl", ["-e", script.join("\n")]);
  await program.shows(/ready/);
  await program.end(60_000);
  expect(await program.ended).toEqual({ exitCode: 0 });
  expect(program.text).toMatch(/bye$/);
});

test("ending a session kills after the grace what ignores everything else", async () => {
  await using program = shell("trap '' HUP TERM INT; echo ready; while :; do sleep 60; done");
  await program.shows(/ready/);
  const before = performance.now();
  expect(await program.end(600)).toEqual([]);
  expect(performance.now() - before).toBeGreaterThan(590);
  expect(await program.ended).toEqual({ exitCode: 137, signal: "SIGKILL" });
});

test("ending a program that was started just now ends it, however busy the machine is", async () => {
  for (let round = 0; round < 100; round += 1) {
    await using program = new Program("sleep", ["1000"]);
    expect(await program.end()).toEqual([]);
    expect((await program.ended).exitCode).toBeGreaterThan(128);
  }
});

const SOURCE = new URL("../../src/sessions/", import.meta.url).href;

test.runIf(process.getuid?.() === 0 && process.platform === "linux")(
  "a session whose program its host may not signal, such as sudo, is ended by the hangup of its terminal",
  async () => {
    const script = `
      import { Session } from "${SOURCE}session.ts";
      import { spawnPty } from "${SOURCE}pty/pty.ts";
      const size = { cols: 80, rows: 24 };
      const stored = { id: "one", name: "n", command: ["sh"], cwd: "/", created: "", pid: 0, shell: "", ...size };
      const options = { files: {}, recordInput: false, onEvent() {}, now: () => performance.now() };
      const session = new Session({ ...options, stored });
      const journal = { note() {}, flushed: async () => {}, close: async () => {} };
      const begun = Promise.withResolvers();
      const args = ["--reuid=65534", "sh", "-c", "echo begun; exec sleep 600"];
      const program = { file: "setpriv", args, env: { PATH: process.env.PATH }, cwd: "/", size };
      const onEnd = (exit) => session.finish(exit);
      session.start(journal, () => spawnPty(program, { onOutput: begun.resolve, onEnd }));
      await begun.promise;
      await session.end();
      console.log(session.record.exitSignal);
    `;
    // Without this capability root may signal other users no more than they may signal root.
    const args = ["--bounding-set=-kill", process.execPath, "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)("setpriv", args, { timeout: 60_000 });
    expect(stdout).toBe("SIGHUP\n");
  },
);

test("ending a session ends a program that moves on to a new process every two milliseconds", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-moving-"));
  const alive = join(folder.path, "alive");
  execFileSync("mkfifo", [alive]);
  // A job of its own, which outlives the hangup of the session's leader.
  const moving = [
    "import os, signal, sys, time",
    "if os.fork(): signal.pause()",
    "os.setpgid(0, 0); fd = os.open(sys.argv[1], os.O_WRONLY)",
    "for name in (signal.SIGHUP, signal.SIGTERM): signal.signal(name, signal.SIG_IGN)",
    "print('ready', flush=True)",
    `over = time.monotonic() + ${(2 * PATIENCE_MS) / 1000}`,
    "while time.monotonic() < over:",
    "  if os.fork(): os._exit(0)",
    "  time.sleep(0.002)",
  ].join("\n");
  await using program = new Program("python3", ["-c", moving, alive]);
  const ended = finished(createReadStream(alive).resume());
  await program.shows(/ready/);
  expect(await program.end(200)).toEqual([]);
  await withDeadline(ended, PATIENCE_MS, "the end of all processes that hold the pipe open");
});

test("a program whose memory cannot be read does not stop the process that asks for its command", async (context) => {
  await using unreadable = await startUnreadable("memory", context);
  const { program } = unreadable;
  const begunMs = performance.now();
  const command = commandLine(program.pty.pid);
  expect(performance.now() - begunMs).toBeLessThan(5_000);
  await program.end(500);
  await command;
});
