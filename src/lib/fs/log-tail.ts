import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";

/**
 * The lines in the last `bytes` of a log, which as a whole may not fit into memory. A line that is cut counts only if it is
 * the only one.
 */
export async function lastLines(path: string, bytes: number): Promise<readonly string[]> {
  const { size } = await stat(path);
  const end = await text(createReadStream(path, { start: Math.max(0, size - bytes) }));
  const lines = end.trim().split("\n");
  return size > bytes && lines.length > 1 ? lines.slice(1) : lines;
}
