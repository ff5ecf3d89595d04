// Ed25519 keys and signatures as OpenSSH writes them. Other types of keys do not log in (facts 4.2).
import { createPublicKey, verify } from "node:crypto";

/** 32 bytes. */
export type PublicKey = { readonly bytes: Uint8Array };

const KEY_TYPE = "ssh-ed25519";
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** Type and base64 of the wire form; a comment may follow. */
const LINE = /^([^ \t]*)[ \t]+([^ \t]+)/;
const SPACE = /[\t-\r ]+/g;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** A line of OpenSSH, `ssh-ed25519 AAAA… comment`, or the base64 of the wire form; `undefined` for anything else. */
export function readPublicKey(text: string): PublicKey | undefined {
  const line = text.trim();
  return keyOfLine(line) ?? keyOfBase64(line);
}

/** A key at the start of a text, as sshd reads it: only spaces and tabs separate words. */
export function keyOfLine(text: string): PublicKey | undefined {
  const [, type, base64] = LINE.exec(text) ?? [];
  return type === KEY_TYPE && base64 !== undefined ? keyOfBase64(base64) : undefined;
}

export function isSameKey(one: PublicKey, other: PublicKey): boolean {
  return Buffer.compare(one.bytes, other.bytes) === 0;
}

/** From the base64 of a signature's 64 bytes, or of an SSH signature blob; `undefined` for anything else. */
export function readSignature(text: string): Uint8Array | undefined {
  const bytes = base64Bytes(text);
  return bytes?.length === SIGNATURE_BYTES ? bytes : bytes && contentOf(bytes, SIGNATURE_BYTES);
}

/** Whether the private half of `key` signed exactly `message` (RFC 8032). */
export function isSignedBy(key: PublicKey, message: Uint8Array, signature: Uint8Array): boolean {
  const x = Buffer.from(key.bytes).toString("base64url");
  const publicKey = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
  return verify(undefined, message, publicKey, signature);
}

/**
 * The bytes of padded base64 (RFC 4648). White space does not count, as in sshd and base64(1). `undefined` for anything
 * else, including a second spelling of the same bytes.
 */
export function base64Bytes(text: string): Uint8Array | undefined {
  const compact = text.replace(SPACE, "");
  if (compact.length % 4 !== 0 || !BASE64.test(compact)) return undefined;
  const bytes = Buffer.from(compact, "base64");
  return bytes.toString("base64") === compact ? new Uint8Array(bytes) : undefined;
}

function keyOfBase64(text: string): PublicKey | undefined {
  const blob = base64Bytes(text);
  const bytes = blob && contentOf(blob, KEY_BYTES);
  return bytes && { bytes };
}

/** Keys and signatures have one wire form (RFC 8709, 4 and 6): the type and `length` bytes, each with its length before it. */
function contentOf(blob: Uint8Array, length: number): Uint8Array | undefined {
  const head = Buffer.concat([uint32(KEY_TYPE.length), Buffer.from(KEY_TYPE), uint32(length)]);
  const isWhole = blob.length === head.length + length && head.equals(blob.subarray(0, head.length));
  return isWhole ? blob.subarray(head.length) : undefined;
}

function uint32(value: number): Buffer {
  return Buffer.from([0, 0, 0, value]);
}
