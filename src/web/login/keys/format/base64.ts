/** Whole groups of four, the last one padded. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** With padding, in one line. */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Undefined unless the text is padded base64 in one line. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** The alphabet of JSON Web Keys (RFC 7515, 2): other letters for `+` and `/`, no padding. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  return decodeBase64(plain.padEnd(Math.ceil(plain.length / 4) * 4, "="));
}
