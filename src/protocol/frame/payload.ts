// Payloads of v3 frames (contract 1.3 and 1.4, facts 1.4 to 1.11). Decoders view, encoders copy.
import { z } from "zod";
import { parseShallowJson } from "../../lib/data/json.ts";
import { errorFromBody, type ServiceError } from "../errors.ts";
import { MAX_EVENT_BYTES } from "../limits.ts";
import { SessionStatus, TerminalSize } from "../schemas/session.ts";
import { GuestName } from "../schemas/viewer.ts";
import {
  badPayload,
  checkOffset,
  needBytes,
  readU32,
  readU64,
  tooLarge,
  writeU32,
  writeU64,
} from "./frame.ts";
import { readSize, SIZE_BYTES, writeSize } from "./resync.ts";

/** Bits of the SUBSCRIBE flags; unknown ones are ignored. */
export const SubscribeFlag = { Stdout: 1, Snapshots: 2, Events: 4, Offsets: 8 } as const;

/** Further bits, between a user's client and its server alone: our own processes do not use them among each other. */
export const ClientFlag = { Viewers: 16 } as const;

const MAX_GOAWAY_MS = 3_600_000;

/**
 * A subscription: flags of SubscribeFlag, milliseconds between two snapshots (0 = the server's default), and the byte
 * of output to begin with. `from` goes with the flag Offsets alone; "live" means no history.
 */
export type Subscribe = {
  readonly flags: number;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly from: number | "live" | undefined;
};

/** The answer to a SUBSCRIBE with the flag Offsets: where output begins, the terminal's size in cells. */
export const Subscribed = z.object({
  flags: z.int().min(0),
  offset: z.int().min(0),
  ...TerminalSize.shape,
  status: SessionStatus,
});
export type Subscribed = z.infer<typeof Subscribed>;

/** The client name of an HQ at its remote, and of a server at its session host. */
export const UPLINK_CLIENT = "uplink";

/** Name and version of a client, for the log and GET /api/clients. */
export const Hello = z.object({ client: z.string().max(128), version: z.string().max(128).optional() });

/** `name`: of a guest, who chose it: it proves nothing. */
const ClientHello = Hello.extend({ name: GuestName.optional() });
export type ClientHello = z.infer<typeof ClientHello>;

/** Asks a client that sent HELLO to reconnect, after `afterMs` and a random part of `jitterMs`. */
export const GoAway = z.object({
  afterMs: z.int().min(0).max(MAX_GOAWAY_MS),
  jitterMs: z.int().min(0).max(MAX_GOAWAY_MS),
  reason: z.string().max(128),
});
export type GoAway = z.infer<typeof GoAway>;

const SUBSCRIBE_BYTES = 12;
const SUBSCRIBE_FROM_BYTES = 20;
const MAX_U32 = 0xffff_ffff;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** 12 bytes, or 20 with `from`. Throws `invalid_request` for `from` without the flag Offsets. */
export function encodeSubscribe(
  request: Pick<Subscribe, "flags"> & Partial<Subscribe>,
): Uint8Array<ArrayBuffer> {
  const { flags, minIntervalMs = 0, maxIntervalMs = 0, from } = request;
  if (from !== undefined && (flags & SubscribeFlag.Offsets) === 0) {
    throw badPayload("An offset to begin with needs the flag Offsets.");
  }
  const payload = new Uint8Array(from === undefined ? SUBSCRIBE_BYTES : SUBSCRIBE_FROM_BYTES);
  writeU32(payload, 0, checkU32(flags));
  writeU32(payload, 4, checkU32(minIntervalMs));
  writeU32(payload, 8, checkU32(maxIntervalMs));
  if (from !== undefined) writeU64(payload, 12, from === "live" ? "max" : checkOffset(from));
  return payload;
}

/** `from` is only read with the flag Offsets. */
export function decodeSubscribe(payload: Uint8Array): Subscribe {
  needBytes("SUBSCRIBE", payload, SUBSCRIBE_BYTES);
  const flags = readU32(payload, 0);
  const hasFrom = (flags & SubscribeFlag.Offsets) !== 0 && payload.length >= SUBSCRIBE_FROM_BYTES;
  return {
    flags,
    minIntervalMs: readU32(payload, 4),
    maxIntervalMs: readU32(payload, 8),
    from: hasFrom ? readFrom(payload) : undefined,
  };
}

/** The payload of RESIZE: cells, each 1 to 1000. */
export function encodeSize(size: TerminalSize): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(SIZE_BYTES);
  writeSize("RESIZE", payload, 0, size);
  return payload;
}

export function decodeSize(payload: Uint8Array): TerminalSize {
  needBytes("RESIZE", payload, SIZE_BYTES);
  return readSize("RESIZE", payload, 0);
}

export function encodeJson(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(value));
}

/** Throws `invalid_request` for invalid JSON or UTF-8, for a value that could not be encoded again, and over `maxBytes`. */
export function decodeJson(payload: Uint8Array, maxBytes: number = MAX_EVENT_BYTES): unknown {
  // The objects of 64 MiB of JSON, which a remote may send, would exhaust the memory of its HQ.
  if (payload.length > maxBytes) {
    throw badPayload(`The payload is too long: at most ${maxBytes} bytes are read.`);
  }
  const text = decodeText(payload);
  try {
    return parseShallowJson(text);
  } catch (cause) {
    const why = cause instanceof RangeError ? cause.message : "not JSON";
    throw badPayload(`The payload is ${why}.`, cause);
  }
}

/** The payload of INPUT_TEXT, INPUT_KEY and KILL. */
export function decodeText(payload: Uint8Array): string {
  try {
    return decoder.decode(payload);
  } catch (cause) {
    throw badPayload("The payload is not UTF-8.", cause);
  }
}

export function decodeSubscribed(payload: Uint8Array): Subscribed {
  return parse("SUBSCRIBED", Subscribed, payload);
}

export function decodeGoAway(payload: Uint8Array): GoAway {
  return parse("GOAWAY", GoAway, payload);
}

export function decodeHello(payload: Uint8Array): ClientHello {
  return parse("HELLO", ClientHello, payload);
}

export type FailedRequest = "subscribe" | "command";

const ErrorPayload = z.looseObject({
  message: z.string(),
  request: z.enum(["subscribe", "command"]).optional().catch(undefined),
  frame: z.int().nonnegative().optional().catch(undefined),
});

/**
 * An ERROR frame has its text in `message`, a REST body in `error`. `frame` is the number of the message that it answers,
 * 0 if it answers none; older servers do not say it. `request` is absent for other messages than these two.
 */
export function decodeError(payload: Uint8Array): {
  readonly error: ServiceError;
  readonly request: FailedRequest | undefined;
  readonly frame: number | undefined;
} {
  const { data } = ErrorPayload.safeParse(decodeJson(payload));
  const message = data?.message ?? "unknown error";
  const error = errorFromBody({ ...data, error: data?.message }, "internal_error", message);
  return { error, request: data?.request, frame: data?.frame };
}

function parse<T>(type: string, schema: z.ZodType<T>, payload: Uint8Array): T {
  const result = schema.safeParse(decodeJson(payload));
  if (result.success) return result.data;
  throw badPayload(`Invalid ${type} payload: ${z.prettifyError(result.error)}`, result.error);
}

function readFrom(payload: Uint8Array): number | "live" {
  const from = readU64(payload, SUBSCRIBE_BYTES);
  if (from === undefined) throw tooLarge("SUBSCRIBE");
  return from === "max" ? "live" : from;
}

function checkU32(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_U32) return value;
  throw badPayload(`${value} is not an unsigned 32-bit integer.`);
}
