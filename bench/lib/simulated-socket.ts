// The /ws of a simulated remote: subscribers get server events; sessions cannot be watched.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { SourcePosition } from "../../src/protocol/directory/session-change.ts";
import type { ServerEvent } from "../../src/protocol/frame/event.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../src/protocol/frame/payload.ts";
import { MAX_MESSAGE_BYTES } from "../../src/protocol/limits.ts";

export class SimulatedSocket {
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  readonly #watchers = new Set<WebSocket>();
  readonly #position: () => SourcePosition;
  /** Accepts connections and messages and ignores them. */
  isHanging = false;

  /** `position`: of the reported sessions. */
  constructor(position: () => SourcePosition) {
    this.#position = position;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.isHanging) this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client));
  }

  tell(event: ServerEvent): void {
    if (this.isHanging) return;
    const frame = encodeFrame(FrameType.EVENT, event.sessionId ?? "", encodeJson(event));
    for (const client of this.#watchers) client.send(frame);
  }

  #serve(client: WebSocket): void {
    client.send(encodeFrame(FrameType.WELCOME, "", encodeJson({ ok: true, version: 3 })));
    client.on("message", (message) => {
      if (message instanceof Uint8Array && !this.isHanging) this.#receive(client, message);
    });
    client.on("error", () => client.terminate());
    client.on("close", () => this.#watchers.delete(client));
  }

  #receive(client: WebSocket, message: Uint8Array): void {
    const { type, sessionId, payload } = decodeFrame(message);
    if (type === FrameType.PING) client.send(encodeFrame(FrameType.PONG, "", payload));
    if (type !== FrameType.SUBSCRIBE) return;
    if (sessionId !== "") {
      const refusal = { message: "a simulated session has no terminal", code: "session_not_found" };
      client.send(encodeFrame(FrameType.ERROR, sessionId, encodeJson(refusal)));
      return;
    }
    this.#watchers.add(client);
    const greeting = { type: "connected", timestamp: new Date().toISOString(), ...this.#position() };
    client.send(encodeFrame(FrameType.EVENT, "", encodeJson(greeting)));
  }
}
