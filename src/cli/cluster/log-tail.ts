import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const TAIL_BYTES = 4096;

/** The last lines of a log, as many as there are and at most `lines`; empty where there is no log. */
export function logTail(path: string, lines: number): readonly string[] {
  try {
    return lastBytes(path)
      .trimEnd()
      .split("\n")
      .slice(-lines)
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** Not the whole of it: nobody knows how long it is. */
function lastBytes(path: string): string {
  const file = openSync(path, "r");
  try {
    const start = Math.max(0, fstatSync(file).size - TAIL_BYTES);
    const bytes = new Uint8Array(TAIL_BYTES);
    const text = new TextDecoder().decode(bytes.subarray(0, readSync(file, bytes, 0, TAIL_BYTES, start)));
    return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } finally {
    closeSync(file);
  }
}
