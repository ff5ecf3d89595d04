import { isAllowedFrom } from "./address-patterns.ts";
import { afterOptions, type KeyOptions, readKeyOptions } from "./key-options.ts";
import { isSameKey, keyOfLine, type PublicKey } from "./public-key.ts";

/** `address`: `undefined` on a unix socket. `nowS`: seconds since 1970. */
export type Visit = { readonly address: string | undefined; readonly nowS: number };

/** "limited": sshd would accept the key, but for less than a terminal. It does not log in, and no later line counts. */
export type Verdict = "admitted" | "limited" | "absent";

type Entry = { readonly key: PublicKey; readonly options: Partial<KeyOptions> };

/**
 * What authorized_keys says about a key, line by line as sshd reads it (sshd(8), contract 5.2). The first line that
 * admits the key decides; a line with the key but with broken options, an unmet `from=` or a past `expiry-time=` does not
 * count. Each byte is read as one character, so that decoding changes nothing.
 */
export function judgeKey(file: Uint8Array, key: PublicKey, visit: Visit): Verdict {
  for (const line of Buffer.from(file).toString("latin1").split("\n")) {
    const entry = readEntry(line);
    if (entry === undefined || !isSameKey(entry.key, key) || !isAdmitted(entry.options, visit)) continue;
    return entry.options.isLimited ? "limited" : "admitted";
  }
  return "absent";
}

/** For sshd a line ends at a NUL, as a C string does. */
function readEntry(whole: string): Entry | undefined {
  const line = whole.replace(/\0.*/s, "").replace(/^[ \t]+/, "");
  if (line === "" || line.startsWith("#")) return undefined;
  const bare = keyOfLine(line);
  if (bare !== undefined) return { key: bare, options: {} };
  const key = keyOfLine(afterOptions(line) ?? "");
  const options = key && readKeyOptions(line);
  return key && options && { key, options };
}

function isAdmitted(options: Entry["options"], { address, nowS }: Visit): boolean {
  const { from, expiresAtS } = options;
  if (expiresAtS !== undefined && expiresAtS < nowS) return false;
  return from === undefined || isAllowedFrom(from, address);
}
