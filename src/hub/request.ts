import { ServiceError } from "../protocol/errors.ts";
import { type Frame, FrameType } from "../protocol/frame/frame.ts";
import {
  decodeHello,
  decodeSize,
  decodeSubscribe,
  decodeText,
  type Hello,
  type Subscribe,
} from "../protocol/frame/payload.ts";
import { keyBytes } from "../protocol/keys.ts";
import { SessionId, SIGNALS, SignalName, TerminalSize } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";

/** What a client's frame asks for. Bytes are copies: a request may outlive the message that it came in. */
export type Request =
  | { readonly kind: "hello"; readonly hello: Hello }
  | { readonly kind: "ping"; readonly payload: Uint8Array }
  | { readonly kind: "subscribe"; readonly subscribe: Subscribe }
  | { readonly kind: "unsubscribe" }
  | { readonly kind: "input"; readonly bytes: Uint8Array }
  | { readonly kind: "resize"; readonly size: TerminalSize }
  | { readonly kind: "kill"; readonly signal: SignalName }
  | { readonly kind: "reset-size" };

/** What is done to a session, and answered only when it fails. */
export type Command = Extract<Request, { kind: "input" | "resize" | "kill" | "reset-size" }>;

const NEEDS_SESSION: ReadonlyMap<number, string> = new Map([
  [FrameType.INPUT_TEXT, "INPUT_TEXT"],
  [FrameType.INPUT_KEY, "INPUT_KEY"],
  [FrameType.RESIZE, "RESIZE"],
  [FrameType.KILL, "KILL"],
  [FrameType.RESET_SIZE, "RESET_SIZE"],
]);

/** Throws ServiceError `unknown_type`, `invalid_request` or PayloadError. */
export function readRequest(frame: Frame): Request {
  const needs = NEEDS_SESSION.get(frame.type);
  if (needs !== undefined && frame.sessionId === "") {
    throw new ServiceError("invalid_request", `Missing sessionId for ${needs}`);
  }
  switch (frame.type) {
    case FrameType.HELLO:
      return { kind: "hello", hello: decodeHello(frame.payload) };
    case FrameType.PING:
      return { kind: "ping", payload: frame.payload.slice() };
    case FrameType.SUBSCRIBE:
      return { kind: "subscribe", subscribe: decodeSubscribe(frame.payload) };
    case FrameType.UNSUBSCRIBE:
      return { kind: "unsubscribe" };
    case FrameType.INPUT_TEXT:
      return { kind: "input", bytes: frame.payload.slice() };
    case FrameType.INPUT_KEY:
      return { kind: "input", bytes: inputKey(decodeText(frame.payload)) };
    case FrameType.RESIZE:
      return { kind: "resize", size: checkSize(decodeSize(frame.payload)) };
    case FrameType.KILL:
      return { kind: "kill", signal: signalName(decodeText(frame.payload)) };
    case FrameType.RESET_SIZE:
      return { kind: "reset-size" };
    default:
      throw new ServiceError("unknown_type", `frames of type ${frame.type} mean nothing here`);
  }
}

/** The bytes of a named key. Throws ServiceError `invalid_request` for a name that is none of the 28. */
export function inputKey(name: string): Uint8Array {
  const bytes = keyBytes(name);
  if (bytes === undefined)
    throw new ServiceError("invalid_request", `Unknown special key: ${name.slice(0, 64)}`);
  return bytes;
}

/** Throws `session_not_found` for what no session can be called. */
export function checkSessionId(sessionId: string): void {
  if (!SessionId.safeParse(sessionId).success)
    throw new ServiceError("session_not_found", `no session ${sessionId}`);
}

/**
 * A session has no terminal of its own whose size it could take back: always throws, `session_not_found` for one that is
 * unknown, `session_not_running` for one that has ended, else `invalid_request`.
 */
export async function refuseResetSize(
  backend: Pick<SessionBackend, "get">,
  sessionId: string,
): Promise<never> {
  const { status } = await backend.get(sessionId);
  if (status === "exited") throw new ServiceError("session_not_running", `session ${sessionId} has ended`);
  throw new ServiceError(
    "invalid_request",
    "the session has no terminal of its own whose size it could take back: resize it",
  );
}

function checkSize(size: TerminalSize): TerminalSize {
  const parsed = TerminalSize.safeParse(size);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_request", "cols and rows must be between 1 and 1000");
}

/** A name, a number, or nothing for SIGTERM (facts 1.3, 1.11). */
function signalName(text: string): SignalName {
  const name = text === "" ? "SIGTERM" : text;
  const byNumber = Object.entries(SIGNALS).find(([, number]) => `${number}` === name)?.[0];
  const parsed = SignalName.safeParse(byNumber ?? name);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_request", `unknown signal ${name.slice(0, 64)}`);
}
