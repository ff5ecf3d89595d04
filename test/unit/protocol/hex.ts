/** Bytes written as pairs of hex digits, with any white space between them. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/\S+/g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ");
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
