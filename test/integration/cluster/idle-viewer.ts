// A viewer that reads on request; unread data fills the network.
import { type Access, targetOf } from "../../../packages/testing/src/access.ts";
import { decodeOutput, type Frame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { Emulator } from "../harness/emulator.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { OutputComparison } from "./expected-output.ts";

const READ_TIMEOUT_MS = 60_000;
const { Stdout, Events, Offsets } = SubscribeFlag;

export type IdleViewerOptions = {
  readonly sessionId: string;
  /** The session's output. */
  readonly due: Buffer;
  /** Keeps the data for `screen`. */
  readonly hasScreen?: boolean;
};

export class IdleViewer implements AsyncDisposable {
  readonly output: OutputComparison;
  readonly #socket: RawSocket;
  readonly #hasScreen: boolean;
  /** The data that draws the screen: the last RESYNC and everything after it, or everything. */
  readonly #drawing: Frame[] = [];

  private constructor(socket: RawSocket, { due, hasScreen = false }: IdleViewerOptions) {
    this.#socket = socket;
    this.#hasScreen = hasScreen;
    this.output = new OutputComparison(due, 0);
  }

  /** Follows a session from its first byte, and does not read yet. */
  static async open(access: Access, options: IdleViewerOptions): Promise<IdleViewer> {
    const target = targetOf(access);
    if (!("url" in target)) throw new Error("a server at a socket of this machine");
    const socket = await RawSocket.open(target.url, { headers: target.headers });
    socket.subscribe(options.sessionId, { flags: Stdout | Events | Offsets, from: 0 });
    await socket.frame(FrameType.SUBSCRIBED);
    socket.pause();
    return new IdleViewer(socket, options);
  }

  /** Reads that many bytes, waiting if necessary, and stops. */
  async read(bytes: number): Promise<void> {
    await this.reach(this.output.next + bytes);
    this.#socket.pause();
  }

  /** Reads up to a byte, or further. */
  async reach(offset: number): Promise<void> {
    const check = (): true | undefined => {
      this.#take();
      return this.output.next >= offset || undefined;
    };
    this.#socket.resume();
    await this.#socket.until(check, `byte ${offset}`, READ_TIMEOUT_MS);
  }

  /** The screen of a viewer with exactly that output. */
  async screen(): Promise<Emulator["seen"]> {
    using emulator = new Emulator();
    await emulator.take(this.#drawing);
    return emulator.seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#socket[Symbol.asyncDispose]();
  }

  #take(): void {
    for (const frame of this.#socket.frames.splice(0)) {
      if (frame.type === FrameType.OUTPUT) {
        const { offset, bytes } = decodeOutput(frame.payload);
        this.output.take(bytes, offset);
      } else if (frame.type === FrameType.RESYNC) {
        this.output.skip(decodeResync(frame.payload).offset);
        this.#drawing.length = 0;
      }
      if (this.#hasScreen) this.#drawing.push(frame);
    }
  }
}
