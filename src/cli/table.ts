import { clipped, displayWidth } from "./printable.ts";

const GAP = "  ";

/** Rows under their headings, columns aligned; lines that do not fit into `width` columns are cut. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => displayWidth(row[column] ?? ""))));
  const lines = all.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join(GAP));
  return lines.map((line) => `${clipped(line.trimEnd(), width)}\n`).join("");
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(width - displayWidth(cell));
}
