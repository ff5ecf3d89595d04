const SPACE = /[\t-\r ]+/g;
const LETTERS = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * The bytes of base64 (RFC 4648), padded. White space in it counts for nothing, as in a file that sshd reads, and as
 * base64(1) breaks lines. `undefined` for anything else, a second spelling of the same bytes included.
 */
export function base64Bytes(text: string): Uint8Array | undefined {
  const letters = text.replace(SPACE, "");
  if (letters.length % 4 !== 0 || !LETTERS.test(letters)) return undefined;
  const bytes = Buffer.from(letters, "base64");
  return bytes.toString("base64") === letters ? new Uint8Array(bytes) : undefined;
}
