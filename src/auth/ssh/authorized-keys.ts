import { isAllowedFrom } from "./address-patterns.ts";
import { type KeyOptions, readKeyOptions } from "./key-options.ts";
import { afterOptions } from "./option-reader.ts";
import { isSameKey, keyOfLine, type PublicKey } from "./public-key.ts";

/** Who comes with a key: the address, `undefined` on a unix socket, and the time in seconds since 1970. */
export type Visit = { readonly address: string | undefined; readonly nowS: number };

/**
 * "admitted": it logs in. "limited": sshd would let it in, but to less than a terminal, so it does not log in here, and
 * no later line counts. "absent": no line admits it.
 */
export type Verdict = "admitted" | "limited" | "absent";

/** A line of the file that has a key in it. */
type Entry = { readonly key: PublicKey; readonly options: KeyOptions };

const NO_OPTIONS: KeyOptions = {
  ...{ isAuthority: false, hasPrincipals: false, isLimited: false },
  ...{ from: undefined, expiresAtS: undefined },
};

/**
 * What a file authorized_keys says about a key, line by line as sshd reads it (sshd(8), contract 5.2): the first line
 * that admits the key decides; one that names it and does not (broken options, an unmet `from=`, a past `expiry-time=`)
 * counts for nothing. Bytes are letters here, so that nothing is lost or found in decoding them.
 */
export function judgeKey(file: Uint8Array, key: PublicKey, visit: Visit): Verdict {
  for (const line of Buffer.from(file).toString("latin1").split("\n")) {
    const entry = readEntry(line);
    if (entry === undefined || !isSameKey(entry.key, key) || !isAdmitted(entry.options, visit)) continue;
    return entry.options.isLimited ? "limited" : "admitted";
  }
  return "absent";
}

/** A line ends for sshd where a C string ends. */
function readEntry(whole: string): Entry | undefined {
  const line = whole
    .split("\0", 1)
    .join("")
    .replace(/^[ \t]+/, "");
  if (line === "" || line.startsWith("#")) return undefined;
  const bare = keyOfLine(line);
  if (bare !== undefined) return { key: bare, options: NO_OPTIONS };
  const key = keyOfLine(afterOptions(line) ?? "");
  const options = key && readKeyOptions(line);
  return key && options && { key, options };
}

function isAdmitted(options: KeyOptions, { address, nowS }: Visit): boolean {
  const { isAuthority, hasPrincipals, from, expiresAtS } = options;
  if (isAuthority || hasPrincipals) return false;
  if (expiresAtS !== undefined && expiresAtS < nowS) return false;
  return from === undefined || isAllowedFrom(from, address);
}
