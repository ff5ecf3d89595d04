import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
/** Bytes that nobody may see: printed, inspected or serialised it is `[secret]`. */
export class Secret {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.slice();
  }

  static fromText(text: string): Secret {
    return new Secret(new TextEncoder().encode(text));
  }

  /** In bytes. */
  get length(): number {
    return this.#bytes.length;
  }

  /** A copy. */
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

/** A user name and its password. */
export type Credentials = { readonly username: string; readonly password: Secret };

/**
 * Tells whether something is that secret, in a time that says nothing about how much of it is right or how long it
 * is: hashes of equal length are compared, under a key that nobody knows.
 */
export function sameBytes(secret: string | Uint8Array): (guess: string | Uint8Array) => boolean {
  const key = randomBytes(32);
  const digest = (value: string | Uint8Array): Buffer => createHmac("sha256", key).update(value).digest();
  const expected = digest(secret);
  return (guess) => timingSafeEqual(digest(guess), expected);
}
