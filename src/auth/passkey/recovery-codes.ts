// Codes for whoever has lost their passkeys: 79 random bits each, so that a plain hash is enough to keep them by.
import { createHash, randomInt } from "node:crypto";

const COUNT = 10;
/** Without what is taken for something else: 0 and O, 1, I and L. */
const LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const GROUPS = 4;
const GROUP_LENGTH = 4;

export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, newGroup).join("-"));
}

/** However it is typed: in small letters, with spaces or without hyphens. */
export function recoveryHash(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return createHash("sha256").update(`ttyhq recovery code\n${plain}`).digest("base64url");
}

function newGroup(): string {
  return Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}
