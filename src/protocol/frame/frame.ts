// WebSocket v3 frames (contract 1.1 and 1.2, facts 1.2): one frame is one binary message. docs/protocol.md is for readers.
import { MAX_FRAME_SESSION_ID_BYTES } from "../limits.ts";
import { readU32, writeU32 } from "./little-endian.ts";

/** The version byte of every frame; old clients know this one alone. */
export const FRAME_VERSION = 3;

/**
 * Our own revision of everything that travels between two of our processes in frames: a server compares it with its
 * session host's. It goes up with every change to types, flags or layouts, which a test locks to it.
 */
export const PROTOCOL_REVISION = 2;

/** Bytes of a frame beside the session id and the payload. */
export const FRAME_OVERHEAD_BYTES = 12;

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

/** The first two bytes of a frame: the letters of the specification, or the order that VibeTunnel's clients write. */
export type Magic = "VT" | "TV";

/** `type` is any byte: whether it is known is the receiver's question. */
export type Frame = {
  readonly type: number;
  readonly sessionId: string;
  /** A view of the message. */
  readonly payload: Uint8Array;
  readonly magic: Magic;
};

/** A message is no frame, or no frame can be made; the text says why. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

const V = 0x56;
const T = 0x54;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A frame as one new array; the payload is copied. `type` is 0..255. Throws FrameError for a session id of more than
 * 256 bytes of UTF-8.
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

/** The length of a session id field, in bytes of UTF-8. Throws FrameError for more than 256. */
export function sessionIdBytes(sessionId: string): number {
  let bytes = 0;
  for (let i = 0; i < sessionId.length && bytes <= MAX_FRAME_SESSION_ID_BYTES; i++) {
    const code = sessionId.codePointAt(i) ?? 0;
    if (code > 0xffff) i++;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code <= 0xffff ? 3 : 4;
  }
  if (bytes > MAX_FRAME_SESSION_ID_BYTES) throw tooLongId();
  return bytes;
}

/** Writes what stands before the payload of a VT frame to the start of `target`; returns where the payload begins. */
export function writeFrameHeader(
  target: Uint8Array,
  type: number,
  sessionId: string,
  payloadBytes: number,
): number {
  const start = FRAME_OVERHEAD_BYTES + sessionIdBytes(sessionId);
  writeMagic(target, "VT");
  target[2] = FRAME_VERSION;
  target[3] = type;
  writeU32(target, 4, start - FRAME_OVERHEAD_BYTES);
  encoder.encodeInto(sessionId, target.subarray(8, start - 4));
  writeU32(target, start - 4, payloadBytes);
  return start;
}

/**
 * Reads one message. Bytes after the payload are ignored; the type is not judged. Throws FrameError where the message
 * is short, has another magic or version, a length past its end, or a session id that is too long or no UTF-8.
 */
export function decodeFrame(message: Uint8Array): Frame {
  if (message.length < FRAME_OVERHEAD_BYTES) {
    throw new FrameError(`short frame: ${message.length} bytes, at least ${FRAME_OVERHEAD_BYTES} are needed`);
  }
  const magic = readMagic(message);
  if (message[2] !== FRAME_VERSION) {
    throw new FrameError(`wrong version: ${message[2]}, not ${FRAME_VERSION}`);
  }
  const idBytes = readU32(message, 4);
  if (idBytes > MAX_FRAME_SESSION_ID_BYTES) throw tooLongId();
  const start = FRAME_OVERHEAD_BYTES + idBytes;
  if (start > message.length) throw new FrameError("session id length past the end of the message");
  const end = start + readU32(message, start - 4);
  if (end > message.length) throw new FrameError("payload length past the end of the message");
  return {
    type: message[3] ?? 0,
    sessionId: readSessionId(message, idBytes),
    payload: message.subarray(start, end),
    magic,
  };
}

/** A copy of a whole frame with the magic in the given order. */
export function withMagic(frame: Uint8Array, magic: Magic): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(frame);
  writeMagic(copy, magic);
  return copy;
}

/** Sets the first two bytes of a frame. */
export function writeMagic(frame: Uint8Array, magic: Magic): void {
  frame[0] = magic === "VT" ? V : T;
  frame[1] = magic === "VT" ? T : V;
}

function readMagic(message: Uint8Array): Magic {
  if (message[0] === V && message[1] === T) return "VT";
  if (message[0] === T && message[1] === V) return "TV";
  throw new FrameError("wrong magic: a frame begins with 56 54 or 54 56");
}

function readSessionId(message: Uint8Array, length: number): string {
  try {
    return decoder.decode(message.subarray(8, 8 + length));
  } catch (cause) {
    throw new FrameError("session id is not UTF-8", { cause });
  }
}

function tooLongId(): FrameError {
  return new FrameError(`session id too long: at most ${MAX_FRAME_SESSION_ID_BYTES} bytes`);
}
