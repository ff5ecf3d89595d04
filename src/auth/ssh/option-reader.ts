const FLAG =
  /^(?:(?:no-)?(?:(?:port|agent|x11)-forwarding|pty|user-rc|(?:touch|verify)-required)|restrict|cert-authority)/i;
const NAME = /^(?:command|principals|from|expiry-time|environment|permitopen|permitlisten|tunnel)(?==)/i;
const MAX_NAME_LENGTH = 24;

/** One option before a key: its name in lower case, and its value where it has one. */
export type KeyOption = { readonly name: string; readonly value: string | undefined };

/**
 * The options at the beginning of a line of authorized_keys, as sshd reads them: parted by commas, up to the first space
 * or tab that is not in quotes; a value stands in quotes, with `\"` for a quote in it. Names are known in any case, and
 * nothing may be empty but what stands between two commas. `undefined` where there is one that sshd does not know.
 */
export function readOptions(line: string): readonly KeyOption[] | undefined {
  const options: KeyOption[] = [];
  let at = 0;
  while (!isEnd(line, at)) {
    const next = line.slice(at, at + MAX_NAME_LENGTH);
    const flag = FLAG.exec(next)?.[0];
    const name = NAME.exec(next)?.[0];
    if (flag !== undefined) {
      options.push({ name: flag.toLowerCase(), value: undefined });
      at += flag.length;
    } else if (name !== undefined) {
      const quoted = quotedAt(line, at + name.length + 1);
      if (quoted === undefined) return undefined;
      options.push({ name: name.toLowerCase(), value: quoted.value });
      at = quoted.end;
    }
    if (isEnd(line, at)) return options;
    if (line[at] !== ",") return undefined;
    at += 1;
    if (at === line.length) return undefined;
  }
  return options;
}

/** What comes after the options, whether or not they are good ones. `undefined` where a quote is never closed. */
export function afterOptions(line: string): string | undefined {
  let isQuoted = false;
  let at = 0;
  for (; at < line.length && (isQuoted || !isEnd(line, at)); at++) {
    if (line.startsWith('\\"', at)) at += 1;
    else if (line[at] === '"') isQuoted = !isQuoted;
  }
  return isQuoted ? undefined : line.slice(at).replace(/^[ \t]+/, "");
}

function isEnd(line: string, at: number): boolean {
  const letter = line[at];
  return letter === undefined || letter === " " || letter === "\t";
}

/** A value in quotes, and where it ends; a backslash before anything but a quote is itself. */
function quotedAt(line: string, start: number): { readonly value: string; readonly end: number } | undefined {
  if (line[start] !== '"') return undefined;
  let at = start + 1;
  const pieces: string[] = [];
  for (;;) {
    const quote = line.indexOf('"', at);
    if (quote < 0) return undefined;
    const isEscaped = quote > at && line[quote - 1] === "\\";
    pieces.push(isEscaped ? `${line.slice(at, quote - 1)}"` : line.slice(at, quote));
    at = quote + 1;
    if (!isEscaped) return { value: pieces.join(""), end: at };
  }
}
