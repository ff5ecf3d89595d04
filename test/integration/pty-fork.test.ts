// Programs that start without what Linux alone has, as on macOS: by fork(2), and told of by SIGCHLD.
import { closeSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { openNative, type PtyExit, spawnPty } from "../../src/sessions/pty/pty.ts";
import { zombies } from "./harness/program.ts";

const macos = openNative("darwin");

async function run(
  file: string,
  args: readonly string[],
  cwd = tmpdir(),
): Promise<PtyExit & { text: string }> {
  const { promise, resolve } = Promise.withResolvers<PtyExit>();
  const chunks: Uint8Array[] = [];
  const env = { PATH: process.env.PATH ?? "", NAME: "value" };
  const onOutput = (chunk: Uint8Array): void => void chunks.push(chunk.slice());
  using _ = spawnPty(
    { file, args, env, cwd, size: { cols: 101, rows: 33 } },
    { onOutput, onEnd: resolve },
    macos,
  );
  return { ...(await promise), text: Buffer.concat(chunks).toString() };
}

test("the program leads a terminal session of its own, of the size and in the folder that were asked for", async () => {
  const script =
    'ps -o pid=,pgid=,sess=,tpgid= -p $$; stty size; pwd; echo "$NAME"; true </dev/tty && exit 3';
  const { text, ...exit } = await run("sh", ["-c", script], "/usr");
  const [ids = "", ...lines] = text.split("\r\n");
  expect(new Set(ids.trim().split(/\s+/)).size).toBe(1);
  expect(lines).toEqual(["33 101", "/usr", "value", ""]);
  expect(exit).toEqual({ exitCode: 3 });
});

test("the terminal has the same settings", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = "";
  const program = { file: "stty", args: ["-a"], env: { PATH: process.env.PATH ?? "" }, cwd: tmpdir() };
  const onOutput = (chunk: Uint8Array): void => {
    text += Buffer.from(chunk).toString();
  };
  using _ = spawnPty({ ...program, size: { cols: 101, rows: 33 } }, { onOutput, onEnd: () => resolve() });
  await promise;
  expect((await run("stty", ["-a"])).text).toBe(text);
});

test("every end is told once, with its code or signal, also of programs that end at the same time", async () => {
  const scripts = Array.from({ length: 40 }, (_, code) => `exit ${code}`);
  const exits = await Promise.all(scripts.map((script) => run("sh", ["-c", script])));
  expect(exits.map(({ exitCode }) => exitCode)).toEqual(scripts.map((_, code) => code));
  expect(await run("sh", ["-c", "kill -SEGV $$"])).toEqual({ exitCode: 139, signal: "SIGSEGV", text: "" });
  expect(zombies()).toEqual([]);
});

test("what cannot be started is an error, and leaves nothing behind", async () => {
  const free = openSync("/dev/null", "r");
  closeSync(free);
  for (const [file, cwd, reason] of [
    ["sh", "/no/such/folder", "ENOENT"],
    ["/etc/passwd", "/", "EACCES"],
  ] as const) {
    await expect(run(file, [], cwd)).rejects.toThrow(reason);
  }
  const next = openSync("/dev/null", "r");
  closeSync(next);
  expect(next).toBe(free);
  expect(zombies()).toEqual([]);
});

test("the program has the usual signals, and no file of its host", async () => {
  const file = openSync("/etc/passwd", "r");
  const script = "grep -E 'SigBlk|SigIgn' /proc/self/status; ls -1 /proc/self/fd";
  const { text } = await run("sh", ["-c", script]);
  closeSync(file);
  expect(text).toBe(
    ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "0", "1", "2", "3", ""].join("\r\n"),
  );
});
