// The programs' output: repeating blocks, so that a viewer can compare every byte at the speed of memcmp.

const PLAIN_LINES = 640;
const ANSI_LINES = 320;

export type LoadKind = "plain" | "ansi";

/** Typical log lines: ASCII, 80 to 130 characters, no escapes. About 64 KiB. */
export function plainBlock(): Uint8Array {
  const lines = Array.from({ length: PLAIN_LINES }, (_, i) => {
    const time = `2026-03-01T12:${two(i % 60)}:${two((i * 7) % 60)}.${100 + ((i * 37) % 900)}Z`;
    const path = `/api/v2/accounts/${10_000 + i * 13}/orders/${(i * 7919) % 100_000}`;
    return `${time} ${i % 17 === 0 ? "WARN" : "INFO"}  worker-${i % 8} GET ${path} ${i % 29 === 0 ? 404 : 200} ${i % 97}.${i % 10}ms bytes=${i * 101}`;
  });
  return block(lines);
}

/**
 * Typical output of full-screen programs: 256 colours, attributes, cursor moves, box drawing, CJK and emoji. About 64
 * KiB.
 */
export function ansiBlock(): Uint8Array {
  const lines = Array.from({ length: ANSI_LINES }, (_, i) => {
    const colour = `\x1b[38;5;${i % 256};48;5;${(i * 3) % 256}m`;
    const bar = "█▓▒░".repeat(4).slice(0, 4 + (i % 12));
    const move = `\x1b[${1 + (i % 24)};${1 + (i % 40)}H\x1b[K`;
    const words = `\x1b[1m見出し ${i}\x1b[22m │ ${bar} │ \x1b[4mmüßig\x1b[24m 🚀 ${"─".repeat(i % 9)}`;
    return `${move}${colour}${words}\x1b[0m \x1b[38;2;${i % 256};${(i * 5) % 256};128mнеделя\x1b[39m \x1b[32m+${i}\x1b[0m \x1b[31m-${i * 2}\x1b[0m`;
  });
  return block(lines);
}

/** The received form of a program's output: the terminal sends every LF as CR LF. */
export function throughTerminal(bytes: Uint8Array): Uint8Array {
  const arrived = new Uint8Array(bytes.length + bytes.filter((byte) => byte === LF).length);
  let at = 0;
  for (const byte of bytes) {
    if (byte === LF) arrived[at++] = CR;
    arrived[at++] = byte;
  }
  return arrived;
}

const LF = 10;
const CR = 13;

function block(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(`${lines.join("\n")}\n`);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
