// The sockets that VibeTunnel had before /ws (facts 1.13), and that its last build on npm uses. Each translates to and from
// frames, so that permissions, limits and the order of messages are those of /ws.
import { z } from "zod";
import { ServiceError } from "../../protocol/errors.ts";
import { decodeFrame, encodeFrame, FrameType, isMalformed, writeU32 } from "../../protocol/frame/frame.ts";
import { decodeJson, encodeSubscribe, SubscribeFlag } from "../../protocol/frame/payload.ts";
import { parseJson } from "../../protocol/json.ts";

export type SocketDialect = {
  /** Translates a text message to a frame. The result for an unknown message is no valid frame, which the viewer reports. */
  readonly toFrame: (text: string) => Uint8Array;
  /** Translates a frame to a message; `undefined` if these clients have no such message. */
  readonly fromFrame: (frame: Uint8Array) => string | Uint8Array | undefined;
};

/** By path, for the query of the handshake. Throws `invalid_request` if the query lacks the session. */
export const SOCKET_DIALECTS: ReadonlyMap<string, (query: URLSearchParams) => SocketDialect> = new Map([
  ["/buffers", () => ({ toFrame: buffersRequest, fromFrame: buffersMessage })],
  ["/ws/input", inputDialect],
]);

const SNAPSHOT_MAGIC = 0xbf;
const NOTHING = new Uint8Array();
const encoder = new TextEncoder();

const BuffersRequest = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["subscribe", "unsubscribe"]), sessionId: z.string() }),
  z.object({ type: z.literal("ping") }),
]);

function buffersRequest(text: string): Uint8Array {
  const request = BuffersRequest.safeParse(parseJson(text)).data;
  switch (request?.type) {
    case "subscribe": {
      // Offsets alone carries no output; it asks for the SUBSCRIBED that becomes "subscribed".
      const flags = SubscribeFlag.Snapshots | SubscribeFlag.Offsets;
      return frame(FrameType.SUBSCRIBE, request.sessionId, encodeSubscribe({ flags }));
    }
    case "unsubscribe":
      return frame(FrameType.UNSUBSCRIBE, request.sessionId, NOTHING);
    case "ping":
      return frame(FrameType.PING, "", NOTHING);
    default:
      return NOTHING;
  }
}

function buffersMessage(message: Uint8Array): string | Uint8Array | undefined {
  const { type, sessionId, payload, magic } = decodeFrame(message);
  switch (type) {
    case FrameType.WELCOME:
      // It comes in both byte orders.
      return magic === "VT" ? JSON.stringify({ type: "connected", version: "1.0" }) : undefined;
    case FrameType.SUBSCRIBED:
      return JSON.stringify({ type: "subscribed", sessionId });
    case FrameType.PONG:
      return JSON.stringify({ type: "pong", timestamp: Date.now() });
    case FrameType.ERROR:
      return JSON.stringify({ ...Object(decodeJson(payload)), type: "error" });
    case FrameType.SNAPSHOT_VT:
      return snapshot(encoder.encode(sessionId), payload);
    default:
      return undefined;
  }
}

function snapshot(id: Uint8Array, payload: Uint8Array): Uint8Array {
  const message = new Uint8Array(5 + id.length + payload.length);
  message[0] = SNAPSHOT_MAGIC;
  writeU32(message, 1, id.length);
  message.set(id, 5);
  message.set(payload, 5 + id.length);
  return message;
}

function inputDialect(query: URLSearchParams): SocketDialect {
  const sessionId = query.get("sessionId");
  if (!sessionId) throw new ServiceError("invalid_request", "/ws/input needs ?sessionId=");
  return { toFrame: (text) => inputFrame(sessionId, text), fromFrame: () => undefined };
}

/** A key name is enclosed in two NUL bytes; everything else is typed text. */
function inputFrame(sessionId: string, text: string): Uint8Array {
  const key = /^\0(.+)\0$/s.exec(text)?.[1];
  if (key !== undefined) return frame(FrameType.INPUT_KEY, sessionId, encoder.encode(key));
  return frame(FrameType.INPUT_TEXT, sessionId, encoder.encode(text));
}

function frame(type: number, sessionId: string, payload: Uint8Array): Uint8Array {
  try {
    return encodeFrame(type, sessionId, payload);
  } catch (error) {
    if (isMalformed(error)) return NOTHING;
    throw error;
  }
}
