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
