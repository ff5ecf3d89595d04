// A command line as systemd reads it (systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting").

/** Words as an `ExecStart=` that runs exactly them: no variable, specifier or quote in them means anything. */
export function execLine(words: readonly string[]): string {
  return words.map(execWord).join(" ");
}

/** The words of such a line. */
export function execWords(line: string): readonly string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare = ""]) =>
    unescaped(quoted ?? bare),
  );
}

const PLAIN = /^[\w@+=:,./-]+$/;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["%", "%%"],
  ["$", "$$"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

function execWord(word: string): string {
  if (PLAIN.test(word)) return word;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what a unit file cannot hold
  const escaped = word.replaceAll(/[%$"\\\x00-\x1f\x7f]/g, (letter) => ESCAPES.get(letter) ?? hex(letter));
  return `"${escaped}"`;
}

function hex(letter: string): string {
  return `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function unescaped(word: string): string {
  return word.replaceAll(/%%|\$\$|\\x[0-9a-f]{2}|\\./g, (found) =>
    found.startsWith("\\x") ? String.fromCharCode(Number.parseInt(found.slice(2), 16)) : found.slice(1),
  );
}
