// The oracle's program. The text of these functions is sent to a machine that has only Node. So they use only each
// other and their parameters, contain no comments, and fit into one argument.
import type { crc32 as Crc32 } from "node:zlib";

/** The stream's parameters; see OracleOptions. */
export type OracleSpec = {
  readonly bytes: number;
  readonly seed: number;
  readonly isWild: boolean;
  /** 0: as fast as it is read. */
  readonly linesPerSecond: number;
  readonly waitsForKey: boolean;
};

/** Random integers from 0 to below a limit, the same for the same seed on every machine (mulberry32). */
export type Draw = (below: number) => number;

/** Consecutive records with their line ends; the same for the same spec. */
export type OracleRecords = Iterable<Uint8Array, void>;

/** The program's interface to its machine. */
export type OracleMachine = {
  readonly crc32: typeof Crc32;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly exit: (code: number) => void;
};

/** All functions of the program; it ends with a call of `printOracle`. */
export const ORACLE_FUNCTIONS = [drawer, noise, payload, oracleRecords, blocks, firstKey, printOracle];

export function drawer(seed: number): Draw {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

export function noise(draw: Draw): Uint8Array {
  const text = (...parts: readonly (string | number)[]): Uint8Array => Buffer.from(parts.join(""));
  const pick = (letters: string) => letters.charAt(draw(letters.length));
  const one = (kind: number): Uint8Array => {
    if (kind === 0) return text("\x1b[", draw(120), ";", draw(40), pick("ABCDEFGHJKLMPSTXZ@bdfm"));
    if (kind === 1) return text("\x1b[?", pick("15679"), pick("hl"), "\x1b[?1049", pick("hl"));
    if (kind === 2) return text("\x1b]", pick("02"), ";title ", draw(1000), "\x07\x1b", pick("78DEM=>"));
    if (kind === 3) return text(pick("aeou"), "\u0301", String.fromCodePoint(0x1f600 + draw(64)));
    if (kind === 4) return text(String.fromCodePoint(0x80 + draw(0xd000)), "\u{1f469}\u200d\u{1f4bb}");
    return Uint8Array.from({ length: 1 + draw(12) }, () => (draw(255) + 11) % 256);
  };
  return Buffer.concat(Array.from({ length: draw(6) }, () => one(draw(6))));
}

export function payload(spec: OracleSpec, draw: Draw, pool: Uint8Array): Uint8Array {
  const length = 1 + draw(draw(50) === 0 ? 2000 : 200);
  const start = draw(pool.length - length);
  const text = pool.subarray(start, start + length);
  return spec.isWild ? Buffer.concat([noise(draw), text]) : text;
}

export function* oracleRecords(spec: OracleSpec, crc32: typeof Crc32, lineEnd: string): OracleRecords {
  const draw = drawer(spec.seed);
  const pool = Uint8Array.from({ length: 8192 }, () => 33 + draw(94));
  let [number, bytes, sum] = [0, 0, 0];
  const record = (kind: string, content: Uint8Array) => {
    const head = Buffer.concat([Buffer.from(`${String(number).padStart(9, "0")} ${kind} `), content]);
    const check = crc32(head, spec.seed).toString(16).padStart(8, "0");
    number += 1;
    bytes += head.length + 11;
    sum = crc32(check, sum);
    return Buffer.concat([head, Buffer.from(` ${check}${lineEnd}`)]);
  };
  const waits = spec.waitsForKey ? ", waits for a key" : "";
  const wild = spec.isWild ? ", wild" : "";
  yield record("B", Buffer.from(`oracle of ${spec.bytes} bytes, seed ${spec.seed}${wild}${waits}`));
  while (bytes < spec.bytes) yield record("D", payload(spec, draw, pool));
  yield record("E", Buffer.from(`oracle ends: ${number + 1} records, sum ${sum.toString(16)}`));
}

/** Of `most` records, or of 32 KiB if that is 0. */
export function* blocks(records: OracleRecords, most: number): Iterable<Uint8Array, void> {
  let block: Uint8Array[] = [];
  let size = 0;
  for (const record of records) {
    block.push(record);
    size += record.length;
    if (most > 0 ? block.length < most : size < 32768) continue;
    yield Buffer.concat(block);
    block = [];
    size = 0;
  }
  yield Buffer.concat(block);
}

export function firstKey({ stdin, exit }: OracleMachine): Promise<unknown> {
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on("data", (keys) => {
    if (keys.includes(3)) exit(130);
  });
  return new Promise((resolve) => stdin.once("data", resolve));
}

export async function printOracle(spec: OracleSpec, machine: OracleMachine): Promise<void> {
  const { crc32, stdout, exit } = machine;
  const key = firstKey(machine);
  const write = (bytes: Uint8Array) => new Promise((written) => stdout.write(bytes, written));
  const records = oracleRecords(spec, crc32, stdout.isTTY ? "\n" : "\r\n")[Symbol.iterator]();
  await write(records.next().value ?? new Uint8Array());
  if (spec.waitsForKey) await key;
  const { linesPerSecond } = spec;
  const started = performance.now();
  const most = linesPerSecond > 0 ? Math.max(1, Math.floor(linesPerSecond / 50)) : 0;
  let lines = 0;
  for (const block of blocks({ [Symbol.iterator]: () => records }, most)) {
    await write(block);
    lines += most;
    const due = linesPerSecond > 0 ? started + (lines * 1000) / linesPerSecond - performance.now() : 0;
    if (due > 0) await new Promise((passed) => setTimeout(passed, due));
  }
  exit(0);
}
