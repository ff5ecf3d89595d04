// A program that a debugger holds: the system shows its end, but its status belongs to the debugger first.
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { Program, zombies } from "./harness/program.ts";

/** A job of the program attaches to it like gdb, and waits for nothing. PR_SET_PTRACER allows it where Yama is active. */
const DEBUGGED = `
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4
PR_SET_PTRACER, PTRACE_SEIZE = 0x59616d61, 0x4206
libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
program = os.getpid()
if os.fork() == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    print("held" if libc.ptrace(PTRACE_SEIZE, program, 0, 0) == 0 else "refused", os.getpid(), flush=True)
time.sleep(600)
`;
const WATCHED_MS = 300;
/** A timer and a few others of the test run; a poll without an end has thousands. */
const FEW_LOOPS = 100;

function loops(): number {
  return performance.nodeTiming.uvMetricsInfo.loopCount;
}

test("the end of a program that a debugger holds costs no time, and is told when the debugger lets go", async () => {
  await using program = new Program("python3", ["-c", DEBUGGED]);
  const { pid } = program.pty;
  const [, debuggerPid] = await program.shows(/held (\d+)/);
  process.kill(pid, "SIGKILL");
  const isZombie = async (): Promise<true | undefined> =>
    /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) || undefined;
  await eventually(isZombie, "the end of the program");
  const before = loops();
  await pause(WATCHED_MS);
  expect(loops() - before).toBeLessThan(FEW_LOOPS);
  process.kill(Number(debuggerPid), "SIGKILL");
  expect(await program.ended).toEqual({ exitCode: 137, signal: "SIGKILL" });
  expect(zombies()).toEqual([]);
});
