import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
/** Bytes that print, inspect and serialise as `[secret]`. */
export class Secret {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.slice();
  }

  static fromText(text: string): Secret {
    return new Secret(new TextEncoder().encode(text));
  }

  bytes(): Uint8Array {
    return this.#bytes.slice();
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[secret]";
  }
}

export type Credentials = { readonly username: string; readonly password: Secret };

/** Compares in constant time, by hashes under a random key, so that neither content nor length leaks. */
export function sameBytes(secret: string | Uint8Array): (guess: string | Uint8Array) => boolean {
  const key = randomBytes(32);
  const digest = (value: string | Uint8Array): Buffer => createHmac("sha256", key).update(value).digest();
  const expected = digest(secret);
  return (guess) => timingSafeEqual(digest(guess), expected);
}
