/** What a file with an Ed25519 key holds (RFC 8032: a seed of 32 bytes, from which everything else follows). */
export type KeyParts = {
  readonly seed: Uint8Array<ArrayBuffer>;
  /** 32 bytes; undefined where the file leaves it out. */
  readonly publicKey: Uint8Array | undefined;
  /** What its maker called it; any text. */
  readonly comment: string;
};

export const SEED_BYTES = 32;
export const PUBLIC_KEY_BYTES = 32;
