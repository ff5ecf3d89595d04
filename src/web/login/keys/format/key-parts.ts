import { ByteCursor } from "../../../byte-cursor.ts";
import { truncatedKey } from "../key-refusal.ts";

/** The content of a file with an Ed25519 key (RFC 8032: a seed of 32 bytes determines everything else). */
export type KeyParts = {
  readonly seed: Uint8Array<ArrayBuffer>;
  /** 32 bytes; undefined if the file omits it. */
  readonly publicKey: Uint8Array | undefined;
  /** The comment, any text. */
  readonly comment: string;
};

export const SEED_BYTES = 32;
export const PUBLIC_KEY_BYTES = 32;

export function keyCursor(bytes: Uint8Array): ByteCursor {
  return new ByteCursor(bytes, truncatedKey);
}
