/** Paths that need no quotes in any shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;
const CONTROL = /\p{Cc}/gu;

/**
 * The path as one word of a shell. It never contains control characters, even if a directory's name does: they would be
 * keys, and a line feed would run a command.
 */
export function shellQuote(path: string): string {
  if (PLAIN.test(path)) return path;
  if (path.search(CONTROL) === -1) return `'${path.replaceAll("'", "'\\''")}'`;
  const escaped = path.replace(/[\\']/g, "\\$&").replace(CONTROL, escapeControl);
  return `$'${escaped}'`;
}

/** As UTF-8 in octal, which every shell with $'…' understands. */
function escapeControl(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
    .join("");
}
