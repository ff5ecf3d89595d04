import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runSystemCommand } from "../../../../src/lib/os/system-command.ts";
import { isRunning } from "../../../../src/sessions/pty/process-tree.ts";
import { until } from "../../until.ts";

const timeoutMs = 20_000;

test("a command is inspected while it runs, from the output that was waited for", async () => {
  const seen: string[] = [];
  const inspect = (pid: number, stdout: string): boolean => {
    if (!stdout.endsWith("ready\n")) return false;
    seen.push(readFileSync(`/proc/${pid}/comm`, "utf8"));
    return true;
  };
  const script = "echo noise; sleep 0.1; echo ready; cat; echo end";
  const finished = await runSystemCommand("sh", ["-c", script], { timeoutMs, inspect });
  expect(finished).toEqual({ code: 0, stdout: "noise\nready\nend\n", stderr: "" });
  expect(seen).toEqual(["sh\n"]);
});

test("an inspection that fails is the command's failure", async () => {
  const inspect = (): boolean => {
    throw new Error("gone");
  };
  await expect(runSystemCommand("sh", ["-c", "echo; cat"], { timeoutMs, inspect })).rejects.toThrow("gone");
});

test.each([
  { when: "its time is over", limitMs: 500, isWrong: false },
  { when: "its inspection fails", limitMs: timeoutMs, isWrong: true },
])("a command that a signal stopped is killed when $when", async ({ limitMs, isWrong }) => {
  let stopped = 0;
  const inspect = (pid: number): boolean => {
    stopped = pid;
    if (isWrong) throw new Error("gone");
    return false;
  };
  const command = runSystemCommand("sh", ["-c", "echo; kill -STOP $$"], { timeoutMs: limitMs, inspect });
  await expect(command).rejects.toThrow(isWrong ? "gone" : "took longer than");
  await until(() => !isRunning(stopped));
});

test("a command that is not inspected has no input", async () => {
  expect(await runSystemCommand("cat", [], { timeoutMs })).toEqual({ code: 0, stdout: "", stderr: "" });
});
