// The browser's Ed25519. Seeds and public keys are 32 bytes, signatures 64.
import { decodeBase64Url } from "./format/base64.ts";
import { readPkcs8, writePkcs8 } from "./format/pkcs8.ts";
import { keyRefusal } from "./key-refusal.ts";

const ED25519 = "Ed25519";

/** Like the others, rejects with ServiceError `invalid_request` if the browser does not support Ed25519. */
export async function makeSeed(subtle: SubtleCrypto): Promise<Uint8Array<ArrayBuffer>> {
  return await supported(async () => {
    const pair = await subtle.generateKey(ED25519, true, ["sign", "verify"]);
    return readPkcs8(new Uint8Array(await subtle.exportKey("pkcs8", pair.privateKey))).seed;
  });
}

/** WebCrypto derives no public keys, but a private key exported as JSON contains its public key. */
export async function publicKeyOf(subtle: SubtleCrypto, seed: Uint8Array): Promise<Uint8Array> {
  return await supported(async () => {
    const key = await subtle.importKey("pkcs8", writePkcs8(seed), ED25519, true, ["sign"]);
    const { x = "" } = await subtle.exportKey("jwk", key);
    const publicKey = decodeBase64Url(x);
    if (publicKey === undefined) throw new Error("a JSON Web Key without its public key");
    return publicKey;
  });
}

export async function sign(
  subtle: SubtleCrypto,
  seed: Uint8Array,
  message: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  return await supported(async () => {
    const key = await subtle.importKey("pkcs8", writePkcs8(seed), ED25519, false, ["sign"]);
    return new Uint8Array(await subtle.sign(ED25519, key, message));
  });
}

/** Any 32 bytes are a valid seed, so a failure is the browser's. */
async function supported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw keyRefusal(
      "this browser cannot work with Ed25519 keys: Firefox 129, Safari 17, Chrome 137 and later ones can",
      cause,
    );
  }
}
