/** Whether a pattern with `*` and `?` matches a whole text; in at most the product of their lengths in time. */
export function fitsWildcard(text: string, pattern: string): boolean {
  let [at, rule] = [0, 0];
  /** The position to retry from: the last star then takes one more character. */
  let retry: { rule: number; at: number } | undefined;
  while (at < text.length) {
    const letter = pattern[rule];
    if (letter === "*") {
      rule += 1;
      retry = { rule, at };
    } else if (letter === "?" || letter === text[at]) {
      rule += 1;
      at += 1;
    } else if (retry !== undefined) {
      retry.at += 1;
      ({ rule, at } = retry);
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(rule));
}
