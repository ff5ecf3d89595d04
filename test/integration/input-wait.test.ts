// Real programs in real terminals that wait for input, or do not.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { isReadingTerminal } from "../../src/sessions/pty/input-wait.ts";
import { Program } from "./harness/program.ts";
import { startUnreadable } from "./harness/unreadable-program.ts";

const python = (script: string): readonly string[] => [
  "python3",
  "-c",
  `import os, select, socket, sys\n${script}`,
];
const node = (script: string): readonly string[] => [process.execPath, "-e", script];

const POLL = "waits = select.poll(); waits.register(0, select.POLLIN)";
const PIPE = "r, w = os.pipe()";
const SOCKETS = "a, b = socket.socketpair()";
const READLINE =
  "require('readline').createInterface({ input: process.stdin, output: process.stdout }).question('ready', () => {});";
const SERVER = "const server = require('net').createServer().listen(0, '127.0.0.1', () => {";

/** The program waits in the kernel for a descriptor, and no longer for its own start. */
function isPolling(pid: number): boolean {
  const [call = ""] = readFileSync(`/proc/${pid}/syscall`, "latin1").split(" ");
  const calls = process.arch === "arm64" ? ["22", "72", "73"] : ["7", "23", "232", "270", "271", "281"];
  return calls.includes(call);
}

test.each<[string, readonly string[]]>([
  ["bash at its prompt", ["bash", "--norc", "-i"]],
  ["a script below a shell", ["sh", "-c", "bash -c 'read -e answer'; true"]],
  ["python's input with readline", python("import readline; input('ready')")],
  ["node's readline", node(READLINE)],
  ["a poll of the terminal", python(`${POLL}; waits.poll()`)],
  ["a poll of at most 2 s", python(`${POLL}\nwhile True: waits.poll(2000)`)],
  [
    "a poll of the terminal and of signals",
    python(`${POLL}; waits.register(os.eventfd(0), 1); waits.poll()`),
  ],
  ["a select of two terminals", python("select.select([0, 2], [], [])")],
  [
    "an epoll of the terminal and a pipe to itself",
    python(`${PIPE}; e = select.epoll(); e.register(0, 1); e.register(r, 1); e.poll()`),
  ],
])("%s waits for input", async (_, [file = "", ...args]) => {
  await using program = new Program(file, args);
  await eventually(
    async () => (await isReadingTerminal(program.pty.pid)) || undefined,
    "a program that waits",
  );
});

test.each<[string, readonly string[]]>([
  [
    "poll of a terminal and a socket",
    python(`${SOCKETS}; ${POLL}; waits.register(a, 1); print('ready', flush=True); waits.poll()`),
  ],
  [
    "select of a terminal and a socket",
    python(`${SOCKETS}; print('ready', flush=True); select.select([0, a], [], [])`),
  ],
  ["epoll of a terminal and a socket", node(`${SERVER} ${READLINE} });`)],
  [
    "poll of a terminal and the output of a child",
    python(
      `r = os.popen('sleep 60').fileno(); ${POLL}; waits.register(r, 1); print('ready', flush=True); waits.poll()`,
    ),
  ],
  [
    "poll of events, not of the terminal",
    python(
      "waits = select.poll(); waits.register(os.eventfd(0), 1); print('ready', flush=True); waits.poll()",
    ),
  ],
  ["poll of 100 ms", python(`${POLL}; print('ready', flush=True)\nwhile True: waits.poll(100)`)],
  ["select of 100 ms", python("print('ready', flush=True)\nwhile True: select.select([0], [], [], 0.1)")],
  [
    "epoll of 100 ms",
    python("e = select.epoll(); e.register(0, 1); print('ready', flush=True)\nwhile True: e.poll(0.1)"),
  ],
  ["sleep", python("print('ready', flush=True); select.select([], [], [])")],
  [
    "process with more descriptors than are looked at",
    python(`[os.dup(0) for _ in range(300)]; ${POLL}; print('ready', flush=True); waits.poll()`),
  ],
])("a %s is not waiting for input", async (_, [file = "", ...args]) => {
  await using program = new Program(file, args);
  await program.shows(/ready/);
  await eventually(async () => isPolling(program.pty.pid) || undefined, "a program that polls");
  expect(await isReadingTerminal(program.pty.pid)).toBe(false);
});

test("an epoll of very many descriptors does not stop the process that asks", async () => {
  // The end of an event's descriptor does not end its watch while another descriptor has the event.
  const watches =
    "import resource; limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit));" +
    "e = select.epoll(); kept = os.eventfd(0); e.register(0, 1)\n" +
    "for fd in range(20, min(limit, 200_000)): os.dup2(kept, fd); e.register(fd, 1); os.close(fd)\n" +
    "print('ready', flush=True); e.poll()";
  const [file = "", ...args] = python(watches);
  await using program = new Program(file, args);
  await program.shows(/ready/);
  await eventually(async () => isPolling(program.pty.pid) || undefined, "a program that polls");
  let hasGoneOn = false;
  setImmediate(() => {
    hasGoneOn = true;
  });
  expect(await isReadingTerminal(program.pty.pid)).toBe(false);
  expect(hasGoneOn).toBe(true);
});

test("a program that is kept in exec does not stop the process that asks what it waits for", async (context) => {
  await using unreadable = await startUnreadable("exec", context);
  const { program } = unreadable;
  const begunMs = performance.now();
  const isReading = isReadingTerminal(program.pty.pid);
  // Another thread reads, and this one goes on.
  await readFile("/proc/self/stat");
  expect(performance.now() - begunMs).toBeLessThan(5_000);
  await program.end(500);
  expect(await isReading).toBe(false);
});
