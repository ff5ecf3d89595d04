// Shared by the tests of the /ws client: a client of the server in memory, and a record of its output.

import { expect } from "vitest";
import { SessionSocket, type SessionSocketOptions } from "../../../src/protocol/client/session-socket.ts";
import type { ServiceError } from "../../../src/protocol/errors.ts";
import type { SessionEvent } from "../../../src/protocol/frame/event.ts";
import {
  decodeFrame,
  decodeOutput,
  FrameType,
  type OutputDelivery,
} from "../../../src/protocol/frame/frame.ts";
import type { Subscribed } from "../../../src/protocol/frame/payload.ts";
import type { MemoryServer } from "./memory-server.ts";

export const times = {
  ...{ connectMs: 5_000, hedgeMs: 5_000, pingMs: 20_000, probeMs: 5_000, stableMs: 0 },
  ...{ quickMs: 0, firstMs: 0, maxMs: 1 },
};

export function connect(server: MemoryServer, more: Partial<SessionSocketOptions> = {}): SessionSocket {
  const own = { open: server.open, clientName: "test", version: "1", times, resubscribeMs: 1 };
  return new SessionSocket({ ...own, ...more });
}

/** Concatenates the output, and checks its offsets and frames. */
export function collect() {
  const parts: Uint8Array[] = [];
  const seen = {
    resyncs: [] as number[],
    events: [] as SessionEvent[],
    errors: [] as ServiceError[],
    subscribed: [] as Subscribed[],
    get bytes(): Uint8Array {
      return Uint8Array.from(parts.flatMap((part) => [...part]));
    },
  };
  const handlers = {
    onOutput: ({ offset, bytes, frame }: OutputDelivery) => {
      const decoded = decodeFrame(frame);
      expect(decoded).toMatchObject({ type: FrameType.OUTPUT, magic: "VT" });
      expect(decodeOutput(decoded.payload)).toEqual({ offset, bytes });
      expect(frame.length).toBe(20 + decoded.sessionId.length + bytes.length);
      parts.push(bytes);
    },
    onResync: ({ offset }: { offset: number }) => void seen.resyncs.push(offset),
    onEvent: (event: SessionEvent) => void seen.events.push(event),
    onError: (error: ServiceError) => void seen.errors.push(error),
    onSubscribed: (subscribed: Subscribed) => void seen.subscribed.push(subscribed),
  };
  return { seen, handlers };
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export function randomBytes(count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => Math.floor(Math.random() * 256));
}
