/** Paths that every shell takes as they are. */
const PLAIN = /^[\w@%+=:,./-]+$/;
const CONTROL = /\p{Cc}/gu;

/**
 * The path as one word of a shell. No control character is typed, whatever the name of a directory has in it: it would be
 * a key, and a line feed would run a command.
 */
export function shellQuote(path: string): string {
  if (PLAIN.test(path)) return path;
  if (path.search(CONTROL) === -1) return `'${path.replaceAll("'", "'\\''")}'`;
  const escaped = path.replace(/[\\']/g, "\\$&").replace(CONTROL, escapeControl);
  return `$'${escaped}'`;
}

/** As UTF-8 in octal, which every shell with $'…' knows. */
function escapeControl(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
    .join("");
}
