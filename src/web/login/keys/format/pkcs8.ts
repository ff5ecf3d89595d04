// "PRIVATE KEY" files: PKCS#8 (RFC 5208) and its second version (RFC 5958) with an Ed25519 key (RFC 8410).

import type { ByteCursor } from "../../../byte-cursor.ts";
import { keyRefusal, malformedKey, otherKind } from "../key-refusal.ts";
import { DerTag, readDer } from "./der-reader.ts";
import { type KeyParts, keyCursor, PUBLIC_KEY_BYTES, SEED_BYTES } from "./key-parts.ts";

/** The bytes before the seed in a version 1 file. */
const HEAD = Uint8Array.from([
  0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
]);

const ED25519 = "2b6570";
/** Object identifiers, as the bytes of DER. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  "2b656e": "an X25519 key, which cannot sign",
  "2b656f": "an X448 key, which cannot sign",
  "2b6571": "an Ed448 key",
  "2a864886f70d010101": "an RSA key",
  "2a864886f70d01010a": "an RSA key",
  "2a864886f70d010301": "a Diffie-Hellman key",
  "2a8648ce3d0201": "an ECDSA key",
  "2a8648ce380401": "a DSA key",
};

/** Throws ServiceError `invalid_request` unless the bytes are exactly one Ed25519 key. */
export function readPkcs8(bytes: Uint8Array): KeyParts {
  const outer = keyCursor(bytes);
  const key = readDer(outer, DerTag.sequence);
  const [version = -1, ...more] = readDer(key, DerTag.integer).rest();
  if (more.length > 0 || (version !== 0 && version !== 1)) throw malformedKey("its version is unknown");
  checkKind(readDer(key, DerTag.sequence));
  const seed = readSeed(readDer(key, DerTag.octetString));
  if (key.next === DerTag.attributes) readDer(key, DerTag.attributes);
  const publicKey =
    version === 1 && key.next === DerTag.publicKey ? readDer(key, DerTag.publicKey).rest() : undefined;
  if (!key.isAtEnd) throw malformedKey("it has an unexpected field");
  if (!outer.isAtEnd) throw keyRefusal("there is text after the key: remove it");
  return { seed, publicKey: publicKey && readPublicKey(publicKey), comment: "" };
}

/** Version 1, without the public key. */
export function writePkcs8(seed: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD.length + seed.length);
  bytes.set(HEAD);
  bytes.set(seed, HEAD.length);
  return bytes;
}

/** Ed25519 has no parameters, unlike other kinds (RFC 8410, 3). */
function checkKind(algorithm: ByteCursor): void {
  const bytes = readDer(algorithm, DerTag.objectId).rest();
  const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (id !== ED25519) throw otherKind(OTHER_KINDS[id] ?? "a key of another kind");
  if (!algorithm.isAtEnd) throw malformedKey("it has parameters, but Ed25519 has none");
}

/** An octet string within the octet string. */
function readSeed(outer: ByteCursor): Uint8Array<ArrayBuffer> {
  const seed = readDer(outer, DerTag.octetString).rest();
  if (!outer.isAtEnd || seed.length !== SEED_BYTES)
    throw malformedKey("its private key is not 32 bytes long");
  return new Uint8Array(seed);
}

/** A bit string: its first byte is the number of unused bits in the last one. */
function readPublicKey(bytes: Uint8Array): Uint8Array {
  if (bytes.length !== PUBLIC_KEY_BYTES + 1 || bytes[0] !== 0)
    throw malformedKey("its public key is not 32 bytes long");
  return bytes.subarray(1);
}
