// What may stand in files of certificates and keys. Each parser throws RangeError "must hold …" for anything else.
import { X509Certificate } from "node:crypto";
import { Secret } from "../../lib/secret.ts";

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g;
const KEY = /-----BEGIN ((?:[A-Z0-9]+ )?PRIVATE KEY)-----[\s\S]+?-----END \1-----/;
const LOCKED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** One certificate or more. All of them are looked at: TLS passes over one that it cannot read without a word. */
export function certificates(bytes: Uint8Array): Uint8Array {
  const found = textOf(bytes).match(CERTIFICATE) ?? [];
  if (found.length === 0 || !found.every(isCertificate)) {
    throw new RangeError("must hold certificates in PEM form, -----BEGIN CERTIFICATE-----");
  }
  return bytes;
}

export function privateKey(bytes: Uint8Array): Secret {
  const text = textOf(bytes);
  if (LOCKED_KEY.test(text)) {
    throw new RangeError("must hold a private key without a passphrase, which nobody is there to type in");
  }
  if (!KEY.test(text))
    throw new RangeError("must hold a private key in PEM form, -----BEGIN PRIVATE KEY-----");
  return new Secret(bytes);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).fingerprint256 !== "";
  } catch {
    return false;
  }
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
