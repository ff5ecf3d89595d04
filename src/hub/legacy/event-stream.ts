// Server-sent events of VibeTunnel before its v3 (facts 3.1): the events of the global subscription of /ws.
import { addAbortListener } from "node:events";
import { PassThrough } from "node:stream";
import { decodeFrame, encodeFrame, FrameType } from "../../protocol/frame/frame.ts";
import { decodeJson, encodeSubscribe, SubscribeFlag } from "../../protocol/frame/payload.ts";
import type { Peer } from "../outbox.ts";
import type { Viewer } from "../viewer/viewer.ts";

const ALL_SESSIONS = encodeFrame(FrameType.SUBSCRIBE, "", encodeSubscribe({ flags: SubscribeFlag.Events }));

/** UTF-8 text; ends when `signal` is aborted or the client is closed. `connect` adds a client to the hub. */
export async function* eventStream(
  connect: (peer: Peer) => Viewer,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const stream = new PassThrough();
  using _ = addAbortListener(signal, () => stream.destroy());
  let lastNumber = 0;
  // `onTaken` is called once the client has read everything before. After the end nothing is written any more.
  const write = (text: string, onTaken: () => void): void => {
    if (!stream.writable) return;
    stream.write(text, (error) => {
      if (!(error instanceof Error)) onTaken();
    });
  };
  using viewer = connect({
    send: (frame, onSent) => {
      const text = eventText(frame, lastNumber + 1);
      if (text === undefined) return queueMicrotask(onSent);
      if (text.startsWith("id:")) lastNumber += 1;
      write(text, onSent);
    },
    pause: () => {},
    resume: () => {},
    close: () => stream.end(),
    ping: () => write(":heartbeat\n\n", () => viewer.heard()),
    terminate: () => stream.destroy(),
  });
  viewer.receive(ALL_SESSIONS);
  yield* stream;
}

function eventText(frame: Uint8Array, number: number): string | undefined {
  const { type, payload, magic } = decodeFrame(frame);
  // It comes in both byte orders.
  if (type === FrameType.WELCOME && magic === "VT") {
    return `event: connected\ndata: ${JSON.stringify({ type: "connected" })}\n\n`;
  }
  if (type !== FrameType.EVENT) return undefined;
  const event = Object(decodeJson(payload));
  return `id: ${number}\nevent: ${event.type ?? event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}
