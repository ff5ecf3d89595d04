// An SSH key and its signatures, as OpenSSH writes them.
import { generateKeyPairSync, sign } from "node:crypto";

export type TestKey = {
  /** `ssh-ed25519 AAAA… comment` */
  readonly line: string;
  /** The wire form and its base64. */
  readonly blob: Uint8Array;
  readonly letters: string;
  readonly sign: (message: Uint8Array) => Uint8Array;
};

export function newKey(): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  const blob = wire("ssh-ed25519", Buffer.from(x, "base64url"));
  const letters = base64(blob);
  return {
    ...{ blob, letters, line: `ssh-ed25519 ${letters} me@here` },
    sign: (message) => sign(undefined, message, privateKey),
  };
}

/** Strings, each with its length before it (RFC 4251, section 5). */
export function wire(...strings: readonly (string | Uint8Array)[]): Uint8Array {
  const pieces = strings.flatMap((each) => {
    const bytes = Buffer.from(each);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return new Uint8Array(Buffer.concat(pieces));
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** Copies of the bytes, each with one bit changed. */
export function* mutations(bytes: Uint8Array): Generator<Uint8Array> {
  for (const [at, byte] of bytes.entries()) {
    for (let bit = 0; bit < 8; bit++) yield bytes.with(at, byte ^ (1 << bit));
  }
}
