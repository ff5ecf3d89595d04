// WebSocket v3 frames (contract 1.1 and 1.2, facts 1.2): one frame is one binary message. docs/protocol.md is for readers.
import { ServiceError } from "../errors.ts";
import { MAX_FRAME_SESSION_ID_BYTES, MAX_MESSAGE_BYTES } from "../limits.ts";

/** The version byte of every frame; VibeTunnel's clients know only this one. */
export const FRAME_VERSION = 3;

/**
 * Revision of the frames between our own processes; a server compares it with its session host's. It is incremented with
 * every change to types, flags or layouts, which a test enforces.
 */
export const PROTOCOL_REVISION = 2;

/** Bytes of a frame beside the session id and the payload. */
const FRAME_OVERHEAD_BYTES = 12;

export const FrameType = {
  HELLO: 1,
  WELCOME: 2,
  SUBSCRIBE: 10,
  UNSUBSCRIBE: 11,
  SUBSCRIBED: 12,
  STDOUT: 20,
  SNAPSHOT_VT: 21,
  EVENT: 22,
  ERROR: 23,
  OUTPUT: 24,
  RESYNC: 25,
  GOAWAY: 26,
  INPUT_TEXT: 30,
  INPUT_KEY: 31,
  RESIZE: 32,
  KILL: 33,
  RESET_SIZE: 34,
  PING: 40,
  PONG: 41,
} as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

/** The first two bytes of a frame: as in the specification, or in the order of VibeTunnel's clients. */
export type Magic = "VT" | "TV";

/** `type` may be unknown. */
export type Frame = {
  readonly type: number;
  readonly sessionId: string;
  /** A view of the message. */
  readonly payload: Uint8Array;
  readonly magic: Magic;
};

/**
 * Output of a session: `bytes` from `offset` on. `frame` is the whole OUTPUT frame (magic VT) that carries exactly these.
 * Both are shared and must not be changed.
 */
export type OutputDelivery = {
  readonly kind: "output";
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly frame: Uint8Array;
};

/** An invalid frame, or one that cannot be encoded. */
function badFrame(message: string, cause?: unknown): ServiceError {
  return new ServiceError("bad_frame", message, { cause });
}

/** An invalid payload, or a value that cannot be encoded. */
export function badPayload(message: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_request", message, { cause });
}

/** Whether a frame or its payload is invalid, for receivers that then trust nothing of the sender. */
export function isMalformed(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (error.code === "bad_frame" || error.code === "invalid_request");
}

const TWO_TO_32 = 2 ** 32;
/** The high half of the largest u64 that a number holds exactly, 2^53 - 1. */
const MAX_SAFE_HIGH = 0x1f_ffff;
/** Bytes of an offset in OUTPUT, RESYNC and SUBSCRIBE. */
export const OFFSET_BYTES = 8;
const V = 0x56;
const T = 0x54;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A frame as one new array; the payload is copied. `type` is 0..255. Throws `bad_frame` for a session id of more
 * than 256 bytes of UTF-8.
 */
export function encodeFrame(
  type: number,
  sessionId: string,
  payload: Uint8Array,
  magic: Magic = "VT",
): Uint8Array<ArrayBuffer> {
  const idBytes = sessionIdBytes(sessionId);
  const frame = new Uint8Array(FRAME_OVERHEAD_BYTES + idBytes + payload.length);
  frame.set(payload, writeFrameHeader(frame, type, sessionId, payload.length));
  writeMagic(frame, magic);
  return frame;
}

/** The length of a session id field, in bytes of UTF-8. Throws `bad_frame` for more than 256. */
function sessionIdBytes(sessionId: string): number {
  const { length } = encoder.encode(sessionId);
  if (length > MAX_FRAME_SESSION_ID_BYTES) throw tooLongId();
  return length;
}

/** The longest payload that a frame of that session can bring to a server. */
export function maxPayloadBytes(sessionId: string): number {
  return MAX_MESSAGE_BYTES - FRAME_OVERHEAD_BYTES - sessionIdBytes(sessionId);
}

/** Writes the header of a VT frame to the start of `target`; returns the index of the payload. */
function writeFrameHeader(target: Uint8Array, type: number, sessionId: string, payloadBytes: number): number {
  writeMagic(target, "VT");
  target[2] = FRAME_VERSION;
  target[3] = type;
  const { written } = encoder.encodeInto(sessionId, target.subarray(8));
  writeU32(target, 4, written);
  writeU32(target, 8 + written, payloadBytes);
  return FRAME_OVERHEAD_BYTES + written;
}

/** Ignores bytes after the payload and accepts unknown types. Throws `bad_frame` for an invalid message. */
export function decodeFrame(message: Uint8Array): Frame {
  if (message.length < FRAME_OVERHEAD_BYTES) {
    throw badFrame(`short frame: ${message.length} bytes, at least ${FRAME_OVERHEAD_BYTES} are needed`);
  }
  const magic = readMagic(message);
  if (message[2] !== FRAME_VERSION) throw badFrame(`wrong version: ${message[2]}, not ${FRAME_VERSION}`);
  const idBytes = readU32(message, 4);
  if (idBytes > MAX_FRAME_SESSION_ID_BYTES) throw tooLongId();
  const start = FRAME_OVERHEAD_BYTES + idBytes;
  if (start > message.length) throw badFrame("session id length past the end of the message");
  const end = start + readU32(message, start - 4);
  if (end > message.length) throw badFrame("payload length past the end of the message");
  return {
    type: message[3] ?? 0,
    sessionId: readSessionId(message, idBytes),
    payload: message.subarray(start, end),
    magic,
  };
}

export function withMagic(frame: Uint8Array, magic: Magic): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(frame);
  writeMagic(copy, magic);
  return copy;
}

function writeMagic(frame: Uint8Array, magic: Magic): void {
  frame[0] = magic === "VT" ? V : T;
  frame[1] = magic === "VT" ? T : V;
}

function readMagic(message: Uint8Array): Magic {
  if (message[0] === V && message[1] === T) return "VT";
  if (message[0] === T && message[1] === V) return "TV";
  throw badFrame("wrong magic: a frame begins with 56 54 or 54 56");
}

function readSessionId(message: Uint8Array, length: number): string {
  try {
    return decoder.decode(message.subarray(8, 8 + length));
  } catch (cause) {
    throw badFrame("session id is not UTF-8", cause);
  }
}

function tooLongId(): ServiceError {
  return badFrame(`session id too long: at most ${MAX_FRAME_SESSION_ID_BYTES} bytes`);
}

export function encodeOutputFrame(
  sessionId: string,
  offset: number,
  bytes: Uint8Array,
  magic: Magic = "VT",
): Uint8Array<ArrayBuffer> {
  const start = outputFrameHeaderBytes(sessionId);
  const frame = new Uint8Array(start + bytes.length);
  writeOutputFrameHeader(frame, sessionId, offset, bytes.length);
  writeMagic(frame, magic);
  frame.set(bytes, start);
  return frame;
}

/** Bytes before the output in an OUTPUT frame of that session. */
export function outputFrameHeaderBytes(sessionId: string): number {
  return FRAME_OVERHEAD_BYTES + sessionIdBytes(sessionId) + OFFSET_BYTES;
}

/** Writes the header of a VT OUTPUT frame to the start of `target`; `length` bytes of output follow it. */
export function writeOutputFrameHeader(
  target: Uint8Array,
  sessionId: string,
  offset: number,
  length: number,
): void {
  const start = writeFrameHeader(target, FrameType.OUTPUT, sessionId, OFFSET_BYTES + length);
  writeU64(target, start, checkOffset(offset));
}

/** `bytes` are a view. */
export function decodeOutput(payload: Uint8Array): { readonly offset: number; readonly bytes: Uint8Array } {
  needBytes("OUTPUT", payload, OFFSET_BYTES);
  return { offset: readOffset("OUTPUT", payload, 0), bytes: payload.subarray(OFFSET_BYTES) };
}

/** Throws `invalid_request` for an offset over 2^53 - 1. */
export function readOffset(type: string, payload: Uint8Array, at: number): number {
  const offset = readU64(payload, at);
  if (offset === undefined || offset === "max") throw tooLarge(type);
  return offset;
}

export function needBytes(type: string, payload: Uint8Array, bytes: number): void {
  if (payload.length >= bytes) return;
  throw badPayload(`Invalid ${type} payload: ${payload.length} bytes, at least ${bytes} are needed.`);
}

/** Throws `invalid_request` unless the value is a whole number from 0 to 2^53 - 1. */
export function checkOffset(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw badPayload(`${value} is not an offset: a whole number from 0 to 2^53 - 1.`);
}

export function tooLarge(type: string): ServiceError {
  return badPayload(`Invalid ${type} payload: the offset is over 2^53 - 1.`);
}

// Integers are little-endian, read and written byte by byte to avoid a DataView for each frame. Callers check the bounds.

export function readU32(bytes: Uint8Array, at: number): number {
  return readU16(bytes, at) + readU16(bytes, at + 2) * 0x1_0000;
}

export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

/** The u64 at `at`; "max" for 2^64-1, `undefined` if it is not a safe integer. */
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
