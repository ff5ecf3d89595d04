import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

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
