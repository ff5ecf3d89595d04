// A client of the hub in memory: frames wait until the client reads them.
import type { Hub } from "../../../src/hub/hub.ts";
import type { Peer } from "../../../src/hub/outbox.ts";
import type { HubView } from "../../../src/hub/viewer/hub-view.ts";
import type { Viewer } from "../../../src/hub/viewer/viewer.ts";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  type Frame,
  FrameType,
  type Magic,
} from "../../../src/protocol/frame/frame.ts";
import { decodeJson, encodeSubscribe } from "../../../src/protocol/frame/payload.ts";
import { until } from "../until.ts";

export class MemoryPeer implements Peer {
  readonly unread: { readonly message: Uint8Array; readonly onSent: () => void }[] = [];
  isPaused = false;
  isTerminated = false;
  closed: number | undefined;
  pings = 0;

  get unreadBytes(): number {
    return this.unread.reduce((sum, { message }) => sum + message.length, 0);
  }

  send(message: Uint8Array, onSent: () => void): void {
    this.unread.push({ message, onSent });
  }

  /** The client reads one message. */
  read(): Uint8Array | undefined {
    const next = this.unread.shift();
    next?.onSent();
    return next?.message;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(code: number): void {
    this.closed ??= code;
  }

  ping(): void {
    this.pings += 1;
  }

  terminate(): void {
    this.isTerminated = true;
  }
}

export class MemoryClient implements AsyncDisposable {
  readonly peer = new MemoryPeer();
  /** Everything that was read. */
  readonly frames: Frame[] = [];
  readonly viewer: Viewer;
  magic: Magic = "VT";

  constructor(hub: Hub, view?: HubView) {
    this.viewer = hub.connect(this.peer, { user: "me", address: undefined, kind: "login" }, view);
    // Its socket is open.
    this.viewer.welcome();
  }

  send(type: number, sessionId: string, payload: Uint8Array = new Uint8Array()): void {
    this.receive(encodeFrame(type, sessionId, payload, this.magic));
  }

  receive(message: Uint8Array): void {
    this.viewer.receive(message);
  }

  subscribe(sessionId: string, request: Parameters<typeof encodeSubscribe>[0]): void {
    this.send(FrameType.SUBSCRIBE, sessionId, encodeSubscribe(request));
  }

  /** Reads one frame if there is one. */
  read(): Frame | undefined {
    const message = this.peer.read();
    if (message === undefined) return undefined;
    const frame = decodeFrame(message);
    this.frames.push(frame);
    return frame;
  }

  /** Reads until `isEnough`. */
  async reads(isEnough: () => boolean): Promise<void> {
    await until(() => {
      while (this.read() !== undefined);
      return isEnough();
    });
  }

  /** Reads until everything that was sent before is dealt with: a PING and its PONG. */
  async settled(): Promise<void> {
    const mark = crypto.getRandomValues(new Uint8Array(8));
    this.send(FrameType.PING, "", mark);
    const isIt = ({ type, payload }: Frame): boolean => type === FrameType.PONG && same(payload, mark);
    await this.reads(() => this.frames.some(isIt));
  }

  of(type: number, sessionId?: string): readonly Frame[] {
    return this.frames.filter(
      (frame) => frame.type === type && (sessionId === undefined || frame.sessionId === sessionId),
    );
  }

  json(type: number, sessionId?: string): readonly unknown[] {
    return this.of(type, sessionId).map(({ payload }) => decodeJson(payload));
  }

  /** The text of all STDOUT frames. */
  get stdout(): string {
    return this.of(FrameType.STDOUT)
      .map(({ payload }) => new TextDecoder("utf-8", { fatal: true }).decode(payload))
      .join("");
  }

  /** Offset and text of all OUTPUT frames. */
  get output(): readonly (readonly [number, string])[] {
    return this.of(FrameType.OUTPUT).map(({ payload }) => {
      const { offset, bytes } = decodeOutput(payload);
      return [offset, new TextDecoder().decode(bytes)] as const;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.viewer[Symbol.dispose]();
  }
}

/** Enough turns of the event loop to finish all work in memory. */
export async function settled(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

export function textOf(count: number, char = "x"): string {
  return char.repeat(count);
}
