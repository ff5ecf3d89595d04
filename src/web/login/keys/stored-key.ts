import { z } from "zod";
import { decodeBase64 } from "./format/base64.ts";
import { PUBLIC_KEY_BYTES } from "./format/key-parts.ts";
import { Locked } from "./key-lock.ts";

export const MAX_KEY_NAME_CHARACTERS = 64;

/** One line: it becomes part of a line of authorized_keys. */
const KeyName = z
  .string()
  .min(1)
  .max(MAX_KEY_NAME_CHARACTERS)
  .regex(/^\P{C}+$/u);

/** A key pair in this browser's storage. Bytes are base64. */
export const StoredKey = z.object({
  name: KeyName,
  publicKey: z.base64().refine((text) => decodeBase64(text)?.length === PUBLIC_KEY_BYTES, "not 32 bytes"),
  /** Milliseconds since 1970. */
  addedAt: z.number(),
  /** The user who logged in with it last. */
  user: z.string().max(256).optional(),
  /** The private key as PKCS#8. */
  secret: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("plain"), pkcs8: z.base64() }),
    Locked.extend({ kind: z.literal("locked") }),
  ]),
});
export type StoredKey = z.infer<typeof StoredKey>;

/** Text as a name, without control characters and shortened. Undefined if nothing remains. */
export function keyName(text: string): string | undefined {
  const plain = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return KeyName.safeParse(Array.from(plain).slice(0, MAX_KEY_NAME_CHARACTERS).join("").trim()).data;
}
