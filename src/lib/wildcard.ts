/**
 * Whether a pattern of sshd fits a whole text: `*` stands for any characters, `?` for one. Takes time in the product of
 * their lengths at most, whatever the pattern is.
 */
export function fitsWildcard(text: string, pattern: string): boolean {
  let [at, rule] = [0, 0];
  /** Where to go on when what follows the last star does not fit: the star takes one character more. */
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
