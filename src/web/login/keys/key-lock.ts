// Encrypts a private key with a password. The parameters are stored with the ciphertext, so later keys may use others.
import { z } from "zod";
import { ServiceError } from "../../../protocol/errors.ts";
import { decodeBase64, encodeBase64 } from "./format/base64.ts";

/** OWASP's recommendation for PBKDF2 with SHA-256: about half a second in a browser. */
const ITERATIONS = 600_000;
/** Higher counts are not ours, and would keep the browser busy for minutes. */
const MAX_ITERATIONS = 20_000_000;
const SALT_BYTES = 16;
/** The nonce length of AES-GCM. */
const IV_BYTES = 12;
const KEY_BITS = 256;

/** Bytes are base64. */
export const Locked = z.object({
  kdf: z.object({
    name: z.literal("PBKDF2"),
    hash: z.literal("SHA-256"),
    iterations: z.int().min(1).max(MAX_ITERATIONS),
    salt: z.base64(),
  }),
  cipher: z.object({ name: z.literal("AES-GCM"), iv: z.base64() }),
  data: z.base64(),
});
export type Locked = z.infer<typeof Locked>;

/** `owner`: the public key; the ciphertext decrypts only for that key. */
export type LockOptions = { readonly password: string; readonly owner: Uint8Array<ArrayBuffer> };

export async function lock(
  crypto: Crypto,
  secret: Uint8Array<ArrayBuffer>,
  { password, owner }: LockOptions,
): Promise<Locked> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const kdf = { name: "PBKDF2", hash: "SHA-256", iterations: ITERATIONS, salt: encodeBase64(salt) } as const;
  const key = await keyOf(crypto.subtle, password, kdf);
  const algorithm = { name: "AES-GCM", iv, additionalData: owner };
  const data = new Uint8Array(await crypto.subtle.encrypt(algorithm, key, secret));
  return { kdf, cipher: { name: "AES-GCM", iv: encodeBase64(iv) }, data: encodeBase64(data) };
}

/** Throws ServiceError `invalid_credentials` for a wrong password, which is indistinguishable from tampered data. */
export async function unlock(
  subtle: SubtleCrypto,
  { kdf, cipher, data }: Locked,
  { password, owner }: LockOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await keyOf(subtle, password, kdf);
  const algorithm = { name: cipher.name, iv: bytesOf(cipher.iv), additionalData: owner };
  try {
    return new Uint8Array(await subtle.decrypt(algorithm, key, bytesOf(data)));
  } catch (cause) {
    throw new ServiceError("invalid_credentials", "wrong password for this key", { cause });
  }
}

/** Different systems may encode the same typed password differently, so it is normalised. */
async function keyOf(subtle: SubtleCrypto, password: string, kdf: Locked["kdf"]): Promise<CryptoKey> {
  const bytes = new TextEncoder().encode(password.normalize("NFC"));
  const base = await subtle.importKey("raw", bytes, kdf.name, false, ["deriveKey"]);
  const algorithm = { ...kdf, salt: bytesOf(kdf.salt) };
  return await subtle.deriveKey(algorithm, base, { name: "AES-GCM", length: KEY_BITS }, false, [
    "encrypt",
    "decrypt",
  ]);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return decodeBase64(base64) ?? new Uint8Array();
}
