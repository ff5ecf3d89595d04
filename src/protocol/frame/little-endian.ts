// Integers on the wire, byte by byte: no DataView is made for each frame. Callers have checked the bounds.

const TWO_TO_32 = 2 ** 32;
/** The high half of the largest u64 that a number holds exactly, 2^53 - 1. */
const MAX_SAFE_HIGH = 0x1f_ffff;

export function readU32(bytes: Uint8Array, at: number): number {
  return readU16(bytes, at) + readU16(bytes, at + 2) * 0x1_0000;
}

export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

/** The u64 at `at`, "max" for 2^64-1, `undefined` where it is no safe integer. */
export function readU64(bytes: Uint8Array, at: number): number | "max" | undefined {
  const low = readU32(bytes, at);
  const high = readU32(bytes, at + 4);
  if (high <= MAX_SAFE_HIGH) return high * TWO_TO_32 + low;
  return high === 0xffff_ffff && low === 0xffff_ffff ? "max" : undefined;
}

export function writeU16(target: Uint8Array, at: number, value: number): void {
  target[at] = value;
  target[at + 1] = value >>> 8;
}

/** The low 32 bits of `value`. */
export function writeU32(target: Uint8Array, at: number, value: number): void {
  writeU16(target, at, value);
  writeU16(target, at + 2, value >>> 16);
}

/** `value` is a safe integer from 0 on, or "max" for 2^64-1. */
export function writeU64(target: Uint8Array, at: number, value: number | "max"): void {
  writeU32(target, at, value === "max" ? 0xffff_ffff : value);
  writeU32(target, at + 4, value === "max" ? 0xffff_ffff : Math.floor(value / TWO_TO_32));
}
