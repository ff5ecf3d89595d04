// "OPENSSH PRIVATE KEY" files, as OpenSSH's PROTOCOL.key describes them.

import type { ByteCursor } from "../../../byte-cursor.ts";
import { inconsistentKey, keyRefusal, malformedKey, otherKind } from "../key-refusal.ts";
import { type KeyParts, keyCursor, PUBLIC_KEY_BYTES, SEED_BYTES } from "./key-parts.ts";
import { isSame } from "./same-bytes.ts";
import { sshKeyKind } from "./ssh-key-kind.ts";

const MAGIC = "openssh-key-v1\0";
const NONE = "none";
/** Unencrypted content is padded to a multiple of this with 1, 2, 3, … */
const BLOCK_BYTES = 8;

const decoder = new TextDecoder();

/** Throws ServiceError `invalid_request` unless the file is exactly one Ed25519 key without a password. */
export function readOpensshKey(bytes: Uint8Array): KeyParts {
  const file = keyCursor(bytes);
  if (text(file.take(MAGIC.length)) !== MAGIC) throw malformedKey("it does not start like an OpenSSH key");
  const [cipher, kdf, kdfOptions] = [text(wireString(file)), text(wireString(file)), wireString(file)];
  const count = file.number(4);
  if (count === 0) throw malformedKey("the file contains no key");
  if (count > 1) throw keyRefusal("this contains several keys: import one at a time");
  const publicKey = readPublicBlob(wireString(file));
  if (cipher !== NONE) throw encrypted();
  if (kdf !== NONE || kdfOptions.length > 0)
    throw malformedKey("it is not encrypted, yet has parameters for a password");
  const parts = readPrivate(wireString(file));
  if (!file.isAtEnd) throw keyRefusal("there is text after the key: remove it");
  if (!isSame(publicKey, parts.publicKey)) throw inconsistentKey();
  return parts;
}

function encrypted(): Error {
  return keyRefusal(
    "this key is encrypted: take its password away in a copy with ssh-keygen -p -f COPY -N '', and give it another one here",
  );
}

function readPublicBlob(bytes: Uint8Array): Uint8Array {
  const blob = keyCursor(bytes);
  checkKind(wireString(blob));
  const publicKey = readPublicKey(blob);
  if (!blob.isAtEnd) throw malformedKey("there is data after its public key");
  return publicKey;
}

/** The encrypted part of a key with a password. */
function readPrivate(bytes: Uint8Array) {
  const secret = keyCursor(bytes);
  const [check, again] = [secret.number(4), secret.number(4)];
  if (check !== again) throw malformedKey("its two check numbers differ");
  if (bytes.length % BLOCK_BYTES !== 0) throw malformedKey("its length is not a multiple of the block size");
  checkKind(wireString(secret));
  const publicKey = readPublicKey(secret);
  const both = wireString(secret);
  if (both.length !== SEED_BYTES + PUBLIC_KEY_BYTES)
    throw malformedKey("its private key is not 32 bytes long");
  if (!isSame(both.subarray(SEED_BYTES), publicKey)) throw inconsistentKey();
  const comment = text(wireString(secret));
  const padding = secret.rest();
  const isPadded = padding.length < BLOCK_BYTES && padding.every((byte, index) => byte === index + 1);
  if (!isPadded) throw malformedKey("its padding is not 1, 2, 3 and so on");
  return { seed: new Uint8Array(both.subarray(0, SEED_BYTES)), publicKey, comment };
}

function checkKind(name: Uint8Array): void {
  const kind = sshKeyKind(text(name));
  if (kind !== undefined) throw otherKind(kind);
}

function readPublicKey(reader: ByteCursor): Uint8Array {
  const publicKey = wireString(reader);
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw malformedKey("its public key is not 32 bytes long");
  return publicKey;
}

function text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A view of the next length-prefixed bytes (RFC 4251, 5). */
function wireString(cursor: ByteCursor): Uint8Array {
  return cursor.take(cursor.number(4));
}
