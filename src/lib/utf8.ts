/**
 * How many bytes at the end begin a UTF-8 character whose other bytes are missing: 0 to 3. What can never become a
 * character does not count.
 */
export function incompleteUtf8Bytes(bytes: Uint8Array): number {
  const furthest = Math.max(0, bytes.length - 3);
  for (let at = bytes.length - 1; at >= furthest; at--) {
    const byte = bytes[at] ?? 0;
    if (isContinuation(byte)) continue;
    const available = bytes.length - at;
    return available < characterBytes(byte) ? available : 0;
  }
  return 0;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Length of the character that this byte begins, in bytes. */
function characterBytes(first: number): number {
  if ((first & 0xe0) === 0xc0) return 2;
  if ((first & 0xf0) === 0xe0) return 3;
  return (first & 0xf8) === 0xf0 ? 4 : 1;
}
