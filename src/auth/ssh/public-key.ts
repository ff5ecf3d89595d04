import { base64Bytes } from "./base64.ts";
import { WireReader } from "./wire-reader.ts";

/** An Ed25519 key, the only type that logs in (facts 4.2): 32 bytes. */
export type PublicKey = { readonly bytes: Uint8Array };

export const KEY_TYPE = "ssh-ed25519";
export const KEY_BYTES = 32;
/** Type, base64 of the wire form, and then what people like: a comment. */
const LINE = /^([^ \t]*)[ \t]+([^ \t]+)/;

/**
 * A key as somebody sends it: a line of OpenSSH, `ssh-ed25519 AAAA… comment`, or the base64 of its wire form alone.
 * `undefined` for anything else: another type, two keys, bytes too few or too many.
 */
export function readPublicKey(text: string): PublicKey | undefined {
  const line = text.trim();
  return keyOfLine(line) ?? keyOfBase64(line);
}

/** A key at the beginning of a text, as sshd reads it: words are parted by spaces and tabs, and by nothing else. */
export function keyOfLine(text: string): PublicKey | undefined {
  const [, type, letters] = LINE.exec(text) ?? [];
  return type === KEY_TYPE && letters !== undefined ? keyOfBase64(letters) : undefined;
}

export function isSameKey(one: PublicKey, other: PublicKey): boolean {
  return Buffer.compare(one.bytes, other.bytes) === 0;
}

function keyOfBase64(letters: string): PublicKey | undefined {
  const blob = base64Bytes(letters);
  return blob && keyOfWire(blob);
}

/** RFC 8709, section 4: the type and the 32 bytes, both as strings. */
function keyOfWire(blob: Uint8Array): PublicKey | undefined {
  const reader = new WireReader(blob);
  const type = reader.string();
  const bytes = reader.string();
  if (type === undefined || bytes?.length !== KEY_BYTES || !reader.isAtEnd) return undefined;
  return Buffer.from(type).toString("latin1") === KEY_TYPE ? { bytes } : undefined;
}
