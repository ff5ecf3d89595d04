const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** Seconds as a person says them, two units at most: `4d 3h`, `12m 5s`, `0s`. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    if (rest >= size || parts.length > 0) parts.push(`${Math.floor(rest / size)}${unit}`);
    rest %= size;
  }
  parts.push(`${rest}s`);
  return parts.slice(0, 2).join(" ");
}
