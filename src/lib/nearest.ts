const MAX_WORD_LENGTH = 64;

/** The candidate closest to a mistyped word; `undefined` if it takes more than `maxEdits` letters to get there. */
export function nearest(word: string, candidates: readonly string[], maxEdits: number): string | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined;
  const distances = candidates.map((candidate) => ({ candidate, distance: distance(word, candidate) }));
  const [best] = distances.toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= maxEdits ? best.candidate : undefined;
}

function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const change = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
