import { encodeBase64 } from "./base64.ts";
import { ED25519_KIND } from "./ssh-key-kind.ts";

const encoder = new TextEncoder();

/** A line of authorized_keys, without a line feed. `name`: one line of text, for people. */
export function publicLine(publicKey: Uint8Array, name: string): string {
  const blob = [encoder.encode(ED25519_KIND), publicKey].flatMap((part) => [...lengthOf(part), ...part]);
  return `${ED25519_KIND} ${encodeBase64(Uint8Array.from(blob))} ${name}`.trimEnd();
}

/** As four bytes in network order. */
function lengthOf({ length }: Uint8Array): readonly number[] {
  return [24, 16, 8, 0].map((shift) => (length >>> shift) & 0xff);
}
