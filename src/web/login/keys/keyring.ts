// A person's actions on keys: creating, importing, opening for a login, exporting.
import type { ReadonlySignal } from "@preact/signals";
import { makeSeed, publicKeyOf, sign } from "./ed25519.ts";
import { decodeBase64, encodeBase64 } from "./format/base64.ts";
import { writePem } from "./format/pem.ts";
import { readPkcs8, writePkcs8 } from "./format/pkcs8.ts";
import { publicLine } from "./format/public-line.ts";
import { readKeyFile } from "./key-file.ts";
import { lock, unlock } from "./key-lock.ts";
import { keyRefusal } from "./key-refusal.ts";
import { KeyStore } from "./key-store.ts";
import { keyName, type StoredKey } from "./stored-key.ts";

/** The properties of a stored key. An empty name is replaced; an empty password leaves the key unencrypted. */
export type NewKey = { readonly name: string; readonly password: string };

/** An opened private key. */
export type OpenKey = {
  /** A line of authorized_keys. */
  readonly publicLine: string;
  sign(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
  /** The user who logged in with it last. */
  usedBy(user: string): void;
};

/** All functions reject with a ServiceError whose message is for the person. */
export class Keyring implements Disposable {
  readonly #crypto: Crypto;
  readonly #store: KeyStore;
  /** Why no key can be used on this page, in whole sentences; undefined if they can. */
  readonly obstacle: string | undefined;

  constructor(window: Window & typeof globalThis) {
    this.#crypto = window.crypto;
    this.#store = new KeyStore(window);
    // The types claim that it always exists.
    const subtle: SubtleCrypto | undefined = window.crypto.subtle;
    this.obstacle = subtle === undefined ? insecureWords(window.location) : undefined;
  }

  get keys(): ReadonlySignal<readonly StoredKey[]> {
    return this.#store.keys;
  }

  async make(request: NewKey): Promise<StoredKey> {
    const seed = await makeSeed(this.#crypto.subtle);
    const publicKey = await publicKeyOf(this.#crypto.subtle, seed);
    return await this.#keep({ seed, publicKey }, request);
  }

  /** A key file: see readKeyFile. It keeps its own name unless another is given. */
  async import(file: string, request: NewKey): Promise<StoredKey> {
    const key = await readKeyFile(this.#crypto.subtle, file);
    return await this.#keep(key, { ...request, name: keyName(request.name) ?? key.comment });
  }

  /** `invalid_credentials` for a wrong password. */
  async open(key: StoredKey, password: string): Promise<OpenKey> {
    const seed = await this.#seedOf(key, password);
    return {
      publicLine: lineOf(key),
      sign: (message) => sign(this.#crypto.subtle, seed, message),
      usedBy: (user) => this.#store.usedBy(key.publicKey, user),
    };
  }

  /** The private key as a PEM file without a password (PKCS#8). Rejects like `open`. */
  async exportPem(key: StoredKey, password: string): Promise<string> {
    return writePem({ label: "PRIVATE KEY", bytes: writePkcs8(await this.#seedOf(key, password)) });
  }

  remove(key: StoredKey): void {
    this.#store.remove(key);
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }

  async #keep(
    { seed, publicKey }: { readonly seed: Uint8Array; readonly publicKey: Uint8Array },
    { name, password }: NewKey,
  ): Promise<StoredKey> {
    const pkcs8 = writePkcs8(seed);
    const owner = new Uint8Array(publicKey);
    const secret =
      password === ""
        ? ({ kind: "plain", pkcs8: encodeBase64(pkcs8) } as const)
        : ({ kind: "locked", ...(await lock(this.#crypto, pkcs8, { password, owner })) } as const);
    const addedAt = Date.now();
    const key = { name: keyName(name) ?? "key", publicKey: encodeBase64(publicKey), addedAt, secret };
    this.#store.add(key);
    return key;
  }

  async #seedOf({ secret, publicKey }: StoredKey, password: string): Promise<Uint8Array> {
    const { subtle } = this.#crypto;
    const owner = bytesOf(publicKey);
    const pkcs8 =
      secret.kind === "plain" ? bytesOf(secret.pkcs8) : await unlock(subtle, secret, { password, owner });
    const { seed } = readPkcs8(pkcs8);
    if (encodeBase64(await publicKeyOf(subtle, seed)) === publicKey) return seed;
    throw keyRefusal("the stored key is damaged: remove it and import it again");
  }
}

/** The line for authorized_keys. */
export function lineOf({ publicKey, name }: Pick<StoredKey, "publicKey" | "name">): string {
  return publicLine(bytesOf(publicKey), name);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return decodeBase64(base64) ?? new Uint8Array();
}

/**
 * Why a page from that origin cannot work with keys, as whole sentences. Browsers disable cryptography for pages that
 * could have been changed in transit.
 */
function insecureWords({ hostname, port }: Pick<Location, "hostname" | "port">): string {
  const local = port === "" ? "80" : port;
  return [
    "This page was loaded over an unencrypted connection. Browsers do not allow such pages to use keys.",
    "Open it by https:// if the server has a certificate (ttyhq serve --tls-cert FILE --tls-key FILE).",
    `Or run ssh -L ${local}:localhost:${local} ${hostname} and open http://localhost:${local} instead.`,
  ].join(" ");
}
