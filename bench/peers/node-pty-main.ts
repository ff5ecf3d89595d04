// Plain node-pty, read and discarded, with the protocol of programs/floor.c.
import { setTimeout as sleep } from "node:timers/promises";
import pty from "node-pty";
import { nowUs } from "../lib/clock.ts";
import { ProcessGroup } from "../lib/process-group.ts";

const READY_BYTES = "READY\r\n".length;
const LIFETIME_MS = 300_000;

/** A program whose output is counted and discarded. */
class Terminal {
  bytes = 0;
  tail: Uint8Array = new Uint8Array(0);
  readonly ended = Promise.withResolvers<void>();
  readonly #pty: pty.IPty;
  #wanted = 0;
  #reached = Promise.withResolvers<void>();

  constructor(command: readonly string[]) {
    const [file = "", ...words] = command;
    this.#pty = pty.spawn(file, words, { cols: 80, rows: 24, encoding: null });
    // With encoding null node-pty returns Buffers; its types say strings.
    this.#pty.onData((data: unknown) => data instanceof Uint8Array && this.#count(data));
    this.#pty.onExit(() => this.ended.resolve());
  }

  async until(bytes: number): Promise<void> {
    if (this.bytes >= bytes) return;
    this.#wanted = bytes;
    this.#reached = Promise.withResolvers();
    await Promise.race([this.#reached.promise, this.ended.promise]);
  }

  press(): void {
    this.#pty.write("k");
  }

  kill(): void {
    this.#pty.kill("SIGKILL");
  }

  #count(data: Uint8Array): void {
    this.bytes += data.length;
    this.tail = data;
    if (this.bytes >= this.#wanted) this.#reached.resolve();
  }
}

async function readLoad(expected: number, command: readonly string[]): Promise<object> {
  const terminal = new Terminal(command);
  await terminal.until(READY_BYTES);
  const cpu = process.cpuUsage();
  const beganUs = nowUs();
  terminal.press();
  await terminal.until(READY_BYTES + expected);
  const seconds = (nowUs() - beganUs) / 1e6;
  const { user, system } = process.cpuUsage(cpu);
  const bytes = terminal.bytes - READY_BYTES;
  const isWhole =
    bytes === expected &&
    Buffer.from(terminal.tail).toString("latin1").endsWith("END\r\n".slice(-terminal.tail.length));
  terminal.kill();
  const peakBytes = new ProcessGroup([process.pid], command[0] ?? "").peakBytes();
  return { seconds, bytes, isWhole, cpuSeconds: (user + system) / 1e6, peakBytes };
}

async function echo(count: number, gapUs: number, command: readonly string[]): Promise<object> {
  const terminal = new Terminal(command);
  const ns: number[] = [];
  await terminal.until(READY_BYTES);
  for (let i = 1; i <= count; i++) {
    await sleep(gapUs / 1000);
    const beganUs = nowUs();
    terminal.press();
    await terminal.until(READY_BYTES + i);
    ns.push(Math.round((nowUs() - beganUs) * 1000));
  }
  terminal.kill();
  return { ns };
}

async function start(count: number, command: readonly string[]): Promise<object> {
  const ns: number[] = [];
  for (let i = 0; i < count; i++) {
    const beganUs = nowUs();
    const terminal = new Terminal(command);
    await terminal.until(1);
    ns.push(Math.round((nowUs() - beganUs) * 1000));
    terminal.kill();
    await terminal.ended.promise;
  }
  return { ns };
}

async function drain(command: readonly string[]): Promise<object> {
  const terminal = new Terminal(command);
  await terminal.ended.promise;
  return { bytes: terminal.bytes };
}

async function run(task: string | undefined, words: readonly string[]): Promise<object> {
  const [first, second] = words.map(Number);
  if (task === "read") return await readLoad(first ?? 0, words.slice(1));
  if (task === "echo") return await echo(first ?? 0, second ?? 0, words.slice(2));
  if (task === "start") return await start(first ?? 0, words.slice(1));
  if (task === "drain") return await drain(words);
  throw new Error(`unknown task ${task}`);
}

setTimeout(() => process.exit(1), LIFETIME_MS).unref();
process.stdout.write(`${JSON.stringify(await run(process.argv[2], process.argv.slice(3)))}\n`);
// Not process.exit() before the line is written; the killed terminal's handles must not keep the process alive.
process.stdout.write("", () => process.exit(0));
