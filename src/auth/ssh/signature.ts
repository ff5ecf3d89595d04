import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { base64Bytes } from "./base64.ts";
import { KEY_TYPE, type PublicKey } from "./public-key.ts";
import { WireReader } from "./wire-reader.ts";

const SIGNATURE_BYTES = 64;

/**
 * The 64 bytes of an Ed25519 signature: of their base64, or of that of an SSH signature (RFC 8709, section 6: the type
 * and the 64 bytes, both as strings), as an ssh-agent makes it. `undefined` for anything else.
 */
export function readSignature(text: string): Uint8Array | undefined {
  const bytes = base64Bytes(text);
  return bytes?.length === SIGNATURE_BYTES ? bytes : bytes && signatureOfWire(bytes);
}

/** Whether `signature` was made over exactly `message` (RFC 8032) with the private half of `key`. */
export function isSignedBy(key: PublicKey, message: Uint8Array, signature: Uint8Array): boolean {
  return verify(undefined, message, keyObject(key), signature);
}

function signatureOfWire(blob: Uint8Array): Uint8Array | undefined {
  const reader = new WireReader(blob);
  const type = reader.string();
  const bytes = reader.string();
  if (type === undefined || bytes?.length !== SIGNATURE_BYTES || !reader.isAtEnd) return undefined;
  return Buffer.from(type).toString("latin1") === KEY_TYPE ? bytes : undefined;
}

function keyObject({ bytes }: PublicKey): KeyObject {
  const x = Buffer.from(bytes).toString("base64url");
  return createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
}
