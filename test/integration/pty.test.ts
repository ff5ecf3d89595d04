// Real programs in real terminals.
import { spawn } from "node:child_process";
import { createHash, randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, createReadStream, readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sessionProcesses } from "../../src/sessions/pty/process-tree.ts";
import { type PtyExit, spawnPty } from "../../src/sessions/pty/pty.ts";
import { Program, shell, zombies } from "./harness/program.ts";
import { scaled } from "./harness/scale.ts";

/** Any bytes but the newline, which a terminal writes as two. */
const LONGEST = 300_000;
const source = randomBytes(LONGEST).map((byte) => (byte === 10 ? 11 : byte));

let directory = "";
let sourceFile = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pty-"));
  sourceFile = join(directory, "source");
  await writeFile(sourceFile, source);
});

afterAll(() => rm(directory, { recursive: true }));

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The pty masters among this process's descriptors. */
function openTerminals(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).endsWith("/ptmx");
    } catch {
      return false;
    }
  }).length;
}

describe("the exit", () => {
  test.each<[string, PtyExit]>([
    ["exit 0", { exitCode: 0 }],
    ["exit 1", { exitCode: 1 }],
    ["exit 127", { exitCode: 127 }],
    ["exit 255", { exitCode: 255 }],
    ["kill -KILL $$", { exitCode: 137, signal: "SIGKILL" }],
    ["kill -SEGV $$", { exitCode: 139, signal: "SIGSEGV" }],
    ["kill -ABRT $$", { exitCode: 134, signal: "SIGABRT" }],
    ["kill -HUP $$", { exitCode: 129, signal: "SIGHUP" }],
    ["kill -40 $$", { exitCode: 168, signal: "SIG40" }],
  ])("of %j is told", async (script, exit) => {
    await using program = shell(script);
    expect(await program.ended).toEqual(exit);
  });

  test("comes after every byte of output, for hundreds of programs that print and exit at once", async () => {
    const lengths = Array.from({ length: scaled(1000) }, () => randomInt(20_000, LONGEST));
    const left = lengths[Symbol.iterator]();
    const lane = async (): Promise<number> => {
      let whole = 0;
      for (const length of left) {
        await using program = new Program("head", ["-c", `${length}`, sourceFile]);
        expect(await program.ended).toEqual({ exitCode: 0 });
        expect(program.bytes.length).toBe(length);
        expect(sha256(program.bytes)).toBe(sha256(source.subarray(0, length)));
        whole += 1;
      }
      return whole;
    };
    const done = await Promise.all(Array.from({ length: 6 }, lane));
    expect(done.reduce((sum, whole) => sum + whole)).toBe(lengths.length);
  });

  test("comes after every byte of output where the reader is slow", async () => {
    const lane = async (): Promise<void> => {
      for (let round = 0; round < 10; round++) {
        const isBusy = (until = performance.now() + 0.5): void => {
          while (performance.now() < until);
        };
        await using program = new Program("head", ["-c", `${LONGEST}`, sourceFile], () => isBusy());
        await program.ended;
        expect(sha256(program.bytes)).toBe(sha256(source));
      }
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
  });

  test("of a paused terminal comes with what the program had written", async () => {
    await using program = shell("stty -echo; echo first; read line; echo last; exit 3");
    await program.shows(/first/);
    program.pty.pause();
    program.pty.write(Buffer.from("\n"));
    expect(await program.ended).toEqual({ exitCode: 3 });
    expect(program.text).toBe("first\r\nlast\r\n");
  });

  test("comes after every byte of output where a background job keeps the terminal open", async () => {
    for (let round = 0; round < 100; round++) {
      const length = randomInt(20_000, LONGEST);
      await using program = shell(`trap '' HUP; sleep 60 & exec head -c ${length} ${sourceFile}`);
      expect(await program.ended).toEqual({ exitCode: 0 });
      expect(sha256(program.bytes)).toBe(sha256(source.subarray(0, length)));
      for (const job of await sessionProcesses(program.pty.pid)) process.kill(job, "SIGKILL");
    }
  });

  test("does not wait for a background job that has the terminal open", async () => {
    await using program = shell("trap '' HUP; sleep 60 & echo $! done; exit 7");
    expect(await program.ended).toEqual({ exitCode: 7 });
    const [, job] = await program.shows(/(\d+) done\r\n$/);
    process.kill(Number(job), "SIGKILL");
  });

  test("does not wait for a background job that goes on printing", async () => {
    await using program = shell("trap '' HUP; yes >/dev/tty 2>/dev/null & sleep 0.1; exit 7");
    expect(await program.ended).toEqual({ exitCode: 7 });
  });

  test("of a program that redirects its streams away is its own, and it may come back to its terminal", async () => {
    await using program = shell(
      "exec </dev/null >/dev/null 2>&1; sleep 0.3; echo back >/dev/tty; sleep 0.1; exit 3",
    );
    expect(await program.ended).toEqual({ exitCode: 3 });
    expect(program.text).toBe("back\r\n");
  });
});

describe("a program", () => {
  const env = { PATH: process.env.PATH ?? "" };
  const size = { cols: 80, rows: 24 };
  const silent = { onOutput: () => {}, onEnd: () => {} };

  test.each([
    {
      file: "/no/such/program",
      cwd: "/",
      message: /^\/no\/such\/program could not be started in \/: ENOENT$/,
    },
    { file: "no-such-program", cwd: "/", message: /^no program no-such-program$/ },
    { file: "/bin/true", cwd: "/no/such/folder", message: /^\/bin\/true could not be .*folder: ENOENT$/ },
    { file: "/etc/passwd", cwd: "/", message: /^\/etc\/passwd could not be started in \/: EACCES$/ },
  ])("$file in $cwd is refused, and nothing stays open", ({ file, cwd, message }) => {
    const before = readdirSync("/proc/self/fd").length;
    expect(() => spawnPty({ file, args: [], env, cwd, size }, silent)).toThrow(message);
    expect(readdirSync("/proc/self/fd").length).toBe(before);
    expect(zombies()).toEqual([]);
  });

  test("leads a session, whose controlling terminal is its own", async () => {
    await using program = shell("tty; ps -o pid=,sid=,pgid=,tpgid=,tty= -p $$");
    await program.ended;
    const [, terminal, line = ""] = /^\/dev\/(\S+)\r\n(.*)\r\n$/.exec(program.text) ?? [];
    const pid = `${program.pty.pid}`;
    expect(line.trim().split(/\s+/).slice(0, 3)).toEqual([pid, pid, pid]);
    expect(line).toMatch(new RegExp(`${terminal}$`));
    expect(line.trim().split(/\s+/)[3]).not.toBe("-1");
  });

  test("has every signal as the system has it, none ignored and none blocked", async () => {
    await using program = new Program("cat", ["/proc/self/status"]);
    await program.ended;
    expect(program.text).toMatch(/SigBlk:\s0+\r\nSigIgn:\s0+\r\nSigCgt:\s0+\r\n/);
  });

  test("is interrupted, stopped and ended by the keys for it", async () => {
    await using program = shell(
      "trap 'echo interrupted; read line; echo $? end; exit' INT; echo ready; while :; do read line; done",
    );
    await program.shows(/ready/);
    program.pty.write(Buffer.from("\x03"));
    await program.shows(/interrupted/);
    program.pty.write(Buffer.from("\x04"));
    await program.shows(/\d end/);
  });

  test("has the environment that it is given and no more, and its own name first", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chunks: Uint8Array[] = [];
    const own = { PATH: env.PATH, ODD: "é\n=1" };
    const script = "cat /proc/$$/environ; cat /proc/$$/cmdline | head -c 2; pwd";
    const program = { file: "sh", args: ["-c", script], env: own, cwd: "/usr", size };
    spawnPty(program, { onOutput: (chunk) => void chunks.push(chunk.slice()), onEnd: () => resolve() });
    await promise;
    expect(Buffer.concat(chunks).toString()).toBe(`PATH=${env.PATH}\0ODD=é\r\n=1\0sh/usr\r\n`);
  });

  test("that is a script without an interpreter is the shell's", async () => {
    const file = join(directory, "script");
    await writeFile(file, 'echo "$0 $1"; exit 4\n', { mode: 0o700 });
    await using program = new Program(file, ["one"]);
    expect(await program.ended).toEqual({ exitCode: 4 });
    expect(program.text).toBe(`${file} one\r\n`);
  });

  test("has a terminal with the settings that node-pty gives it, but that no byte is a second end of a line", async () => {
    const native = createRequire(import.meta.url)("node-pty").native;
    const { promise, resolve } = Promise.withResolvers<void>();
    const file = join(directory, "settings");
    const words = ["-c", `stty -a >${file}`];
    const { fd } = native.fork("sh", words, [`PATH=${env.PATH}`], "/", 80, 24, -1, -1, true, "", resolve);
    await promise;
    closeSync(fd);
    await using program = shell("stty -a");
    await program.ended;
    const settings = (text: string): string[] => text.replace(/eol2? = [^;]*;/g, "").split(/\s+/);
    expect(settings(program.text)).toEqual(settings(await readFile(file, "utf8")));
  });

  test("of a thread that ends does not end the process of that thread", async () => {
    const pty = fileURLToPath(new URL("../../src/sessions/pty/pty.ts", import.meta.url));
    const inThread = `import(${JSON.stringify(pty)}).then(({ spawnPty }) => {
      const program = { file: "sleep", args: ["60"], env: process.env, cwd: "/", size: { cols: 80, rows: 24 } };
      const { pid } = spawnPty(program, { onOutput: () => {}, onEnd: () => {} });
      require("node:worker_threads").parentPort.postMessage(pid);
    });`;
    const script = `
      const worker = new (require("node:worker_threads").Worker)(${JSON.stringify(inThread)}, { eval: true });
      worker.once("message", async (pid) => {
        await worker.terminate();
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // The terminal has already hung up.
        }
        console.log("over");
      });`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    expect(await text(child.stdout)).toBe("over\n");
  });
});

describe("bytes", () => {
  test("of all values come as the program wrote them", async () => {
    const file = join(directory, "all-bytes");
    const bytes = randomBytes(200_000);
    await writeFile(file, bytes);
    await using program = shell(`stty raw; exec cat ${file}`);
    await program.ended;
    expect(sha256(program.bytes)).toBe(sha256(bytes));
  });

  test("of all values go as they were written, 1 MiB in pieces of every size", async () => {
    const file = join(directory, "pasted");
    const bytes = randomBytes(1024 * 1024);
    const fifo = join(directory, "may-read");
    await using maker = new Program("mkfifo", [fifo]);
    await maker.ended;
    const readAll = `head -c ${bytes.length} >${file}`;
    await using program = shell(`stty raw -echo; echo ready; read line <${fifo}; ${readAll}`);
    await program.shows(/ready/);
    const writePart = (start: number, end: number): void => {
      for (let from = start, to = 0; from < end; from = to) {
        to = Math.min(from + randomInt(1, 20_000), end);
        const piece = Uint8Array.from(bytes.subarray(from, to));
        program.pty.write(piece);
        // Written bytes are copied: the caller may reuse its buffer.
        piece.fill(0);
      }
    };
    writePart(0, bytes.length / 2);
    expect(program.pty.pendingInputBytes).toBeGreaterThan(bytes.length / 4);
    await writeFile(fifo, "\n");
    writePart(bytes.length / 2, bytes.length);
    expect(await program.ended).toEqual({ exitCode: 0 });
    expect(sha256(await readFile(file))).toBe(sha256(bytes));
    expect(program.pty.pendingInputBytes).toBe(0);
  });

  test("that the program does not read wait, are counted, and are dropped with the program", async () => {
    await using program = shell("stty raw -echo; echo ready; read line <&2; exec sleep 60");
    await program.shows(/ready/);
    const written = 1024 * 1024;
    program.pty.write(new Uint8Array(written / 2));
    program.pty.write(new Uint8Array(written / 2));
    expect(program.pty.pendingInputBytes).toBeGreaterThan(written - 64 * 1024);
    expect(program.pty.pendingInputBytes).toBeLessThanOrEqual(written);
    await program.end();
    await program.ended;
    expect(program.pty.pendingInputBytes).toBe(0);
    program.pty.write(new Uint8Array(10));
    expect(program.pty.pendingInputBytes).toBe(0);
  });

  test("come and go at once in a flood both ways", async () => {
    await using program = shell(`stty raw -echo; echo ready; exec head -c ${LONGEST}`);
    await program.shows(/ready\n/);
    program.pty.write(source);
    await program.ended;
    expect(sha256(program.bytes.subarray("ready\n".length))).toBe(sha256(source));
  });
});

describe("the terminal", () => {
  test("has the size that was asked for, and tells of a new one", async () => {
    await using program = shell("trap 'stty size; exit' WINCH; stty size; sleep 60 & wait");
    await program.shows(/24 80\r\n/);
    program.pty.resize({ cols: 132, rows: 43 });
    await program.ended;
    expect(program.text).toBe("24 80\r\n43 132\r\n");
    program.pty.resize({ cols: 80, rows: 24 });
  });

  test("stops the program while it is paused and lets it go on", async () => {
    await using program = new Program("yes", []);
    await program.more();
    program.pty.pause();
    const paused = program.bytes.length;
    await using other = shell("echo a; sleep 0.1; echo b");
    await other.ended;
    expect(program.bytes.length).toBe(paused);
    program.pty.resume();
    await program.more();
    expect(program.bytes.length).toBeGreaterThan(paused);
  });

  test("hangs up when it is disposed of, and is silent from then on", async () => {
    const fifo = join(directory, "fifo");
    await using maker = new Program("mkfifo", [fifo]);
    await maker.ended;
    await using program = shell(`trap 'echo hung up >${fifo}; exit' HUP; echo ready; read line`);
    await program.shows(/ready\r\n/);
    program.pty[Symbol.dispose]();
    program.pty[Symbol.dispose]();
    const [line] = await once(createReadStream(fifo), "data");
    expect(`${line}`).toBe("hung up\n");
    program.pty.write(Buffer.from("x"));
    program.pty.resize({ cols: 10, rows: 10 });
    program.pty.resume();
    expect(program.text).toBe("ready\r\n");
  });

  test("may be disposed of while it hands on output", async () => {
    const before = openTerminals();
    await using program = new Program("yes", [], (pty) => pty[Symbol.dispose]());
    await program.more();
    const seen = program.bytes.length;
    await using other = shell("echo a");
    await other.ended;
    expect(program.bytes.length).toBe(seen);
    expect(openTerminals()).toBe(before);
  });

  test("is not inherited by the programs of other terminals", async () => {
    await using first = shell("echo ready; read line");
    await first.shows(/ready/);
    await using second = new Program("ls", ["-l", "/proc/self/fd"]);
    await second.ended;
    expect(second.text).toMatch(/ 0 -> \/dev\/pts\/\d+/);
    expect(second.text).not.toMatch(/ptmx/);
  });

  test("hands on no descriptor that its own process was started with", async () => {
    const pty = fileURLToPath(new URL("../../src/sessions/pty/pty.ts", import.meta.url));
    const script = `
      const { spawnPty } = await import(${JSON.stringify(pty)});
      const program = { file: "ls", args: ["/proc/self/fd"], env: { PATH: process.env.PATH }, cwd: "/", size: { cols: 80, rows: 24 } };
      spawnPty(program, { onOutput: (chunk) => process.stdout.write(chunk.slice()), onEnd: () => {} });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit", "ignore", "ignore"],
    });
    const listing = child.stdout === null ? "" : await text(child.stdout);
    // Its own three, and the one with which it reads the list.
    expect(listing.split(/\s+/).filter(Boolean)).toEqual(["0", "1", "2", "3"]);
  });

  test("leaves no descriptor and no process behind, 200 times", async () => {
    const before = { terminals: openTerminals(), descriptors: readdirSync("/proc/self/fd").length };
    for (let round = 0; round < 20; round++) {
      const programs = Array.from({ length: 10 }, (_, index) =>
        index % 3 === 0 ? shell("exec >&- 2>&- <&-; exit 1") : shell(`echo ${index}`),
      );
      await Promise.all(programs.map((program) => program.ended));
    }
    expect(openTerminals()).toBe(before.terminals);
    expect(readdirSync("/proc/self/fd").length).toBe(before.descriptors);
    expect(zombies()).toEqual([]);
  });
});
