// Reads and checks a key file.
import { publicKeyOf } from "./ed25519.ts";
import type { KeyParts } from "./format/key-parts.ts";
import { readOpensshKey } from "./format/openssh-key.ts";
import { MAX_KEY_FILE_CHARACTERS, readPem } from "./format/pem.ts";
import { readPkcs8 } from "./format/pkcs8.ts";
import { isSame } from "./format/same-bytes.ts";
import { inconsistentKey, keyRefusal, otherKind } from "./key-refusal.ts";

/** A key pair whose halves match. */
export type WholeKey = KeyParts & { readonly publicKey: Uint8Array };

const OPENSSH = "OPENSSH PRIVATE KEY";
const PKCS8 = "PRIVATE KEY";

/** PEM labels of other content, with its description. */
const OTHER_FILES: readonly (readonly [pattern: RegExp, refusal: () => Error])[] = [
  [/^PGP /, () => otherKind("an OpenPGP file")],
  [/PUBLIC KEY$/, publicHalf],
  [/CERTIFICATE|CRL$|^PKCS7$|^CMS$/, () => keyRefusal("this is a certificate: import the private key")],
  [/^ENCRYPTED PRIVATE KEY$/, encrypted],
  [/^RSA PRIVATE KEY$/, () => otherKind("an RSA key")],
  [/^EC (?:PRIVATE KEY|PARAMETERS)$/, () => otherKind("an ECDSA key")],
  [/^DSA (?:PRIVATE KEY|PARAMETERS)$/, () => otherKind("a DSA key")],
];

/**
 * Reads an Ed25519 key without a password, in OpenSSH's format or PKCS#8. The public key in the file must match the
 * private key. Throws ServiceError `invalid_request` that says what the text is instead.
 */
export async function readKeyFile(subtle: SubtleCrypto, file: string): Promise<WholeKey> {
  const text = file.replace(/^\uFEFF/, "").trim();
  checkText(text);
  const { label, bytes } = readPem(text, checkLabel);
  const parts = label === OPENSSH ? readOpensshKey(bytes) : readPkcs8(bytes);
  const publicKey = await publicKeyOf(subtle, parts.seed);
  if (parts.publicKey !== undefined && !isSame(parts.publicKey, publicKey)) throw inconsistentKey();
  return { ...parts, publicKey };
}

function checkText(text: string): void {
  if (text === "") throw keyRefusal("no key given: choose a file or paste its content");
  if (text.length > MAX_KEY_FILE_CHARACTERS) throw keyRefusal("this is too large for a key");
  if (/^PuTTY-User-Key-File-\d/.test(text)) {
    throw keyRefusal(
      "this is a key of PuTTY: puttygen FILE -O private-openssh-new -o COPY makes a copy to import",
    );
  }
  const isPublic =
    /^(?:ssh-|ecdsa-|sk-)[\w@.-]+\s+[A-Za-z0-9+/]{16}/.test(text) || /^---- BEGIN SSH2 PUBLIC/.test(text);
  if (isPublic) throw publicHalf();
}

function checkLabel(label: string): void {
  if (label === OPENSSH || label === PKCS8) return;
  const other = OTHER_FILES.find(([pattern]) => pattern.test(label));
  throw other === undefined ? keyRefusal(`“${label}” is not a supported kind of key file`) : other[1]();
}

function publicHalf(): Error {
  return keyRefusal("this is a public key: import the private key, the file without .pub");
}

function encrypted(): Error {
  return keyRefusal(
    "this key is encrypted: make a copy without its password with openssl pkey -in FILE -out COPY, and give it another one here",
  );
}
