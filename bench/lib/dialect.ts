// Message formats of the servers. A dialect receives pieces of messages and passes on the output in them.
import { encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeSubscribe, SubscribeFlag } from "../../src/protocol/frame/payload.ts";
import type { Speech } from "./viewer-plan.ts";

/** The content of messages. */
export type OutputSink = {
  /** `position` is the place of the bytes in the session's output, if the server reports it. */
  output(bytes: Uint8Array, position: number | undefined): void;
  /** The server draws the screen instead of the output before `position`. */
  resync(position: number): void;
  /** The server accepted the subscription. */
  subscribed(): void;
  ended(): void;
  failed(reason: string): void;
};

export type Dialect = {
  /** Sent as soon as the connection is open. */
  readonly opening: readonly Uint8Array[];
  /** Whether the server acknowledges the subscription. */
  readonly confirms: boolean;
  input(keys: Uint8Array): Uint8Array;
  begin(): void;
  piece(bytes: Uint8Array): void;
  end(): void;
};

export function dialectOf(speech: Speech, sink: OutputSink): Dialect {
  switch (speech.kind) {
    case "raw":
      return raw(sink);
    case "ttyd":
      return new TtydDialect(sink);
    case "v3":
      return new V3Dialect(speech, sink);
  }
}

function raw(sink: OutputSink): Dialect {
  return {
    opening: [],
    confirms: false,
    input: (keys) => keys,
    begin: () => {},
    piece: (bytes) => sink.output(bytes, undefined),
    end: () => {},
  };
}

const ZERO = "0".charCodeAt(0);

class TtydDialect implements Dialect {
  readonly opening = [new TextEncoder().encode('{"AuthToken":"","columns":80,"rows":24}')];
  readonly confirms = false;
  readonly #sink: OutputSink;
  #type: number | undefined;

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  input(keys: Uint8Array): Uint8Array {
    return Uint8Array.of(ZERO, ...keys);
  }

  begin(): void {
    this.#type = undefined;
  }

  piece(bytes: Uint8Array): void {
    const isFirst = this.#type === undefined;
    this.#type ??= bytes[0];
    if (this.#type === ZERO) this.#sink.output(isFirst ? bytes.subarray(1) : bytes, undefined);
  }

  end(): void {}
}

const OFFSET_BYTES = 8;
const SIZE_BYTES = 8;
/** Events, errors and the like are short; a longer one is a defect of the server. */
const MAX_SMALL_FRAME_BYTES = 64 * 1024;

class V3Dialect implements Dialect {
  readonly opening: readonly Uint8Array[];
  readonly confirms = true;
  readonly #sink: OutputSink;
  readonly #sessionId: string;
  /** The longest header: that of an OUTPUT or a RESYNC. */
  readonly #head: Buffer;
  readonly #bodyStart: number;
  #length = 0;
  #type = 0;
  #position = 0;
  /** A whole frame other than OUTPUT and RESYNC; at most MAX_SMALL_FRAME_BYTES. */
  #small: Buffer[] = [];

  constructor(speech: { readonly sessionId: string; readonly from: number }, sink: OutputSink) {
    const flags = SubscribeFlag.Stdout | SubscribeFlag.Events | SubscribeFlag.Offsets;
    const payload = encodeSubscribe({ flags, from: speech.from });
    this.opening = [encodeFrame(FrameType.SUBSCRIBE, speech.sessionId, payload)];
    this.#sink = sink;
    this.#sessionId = speech.sessionId;
    this.#bodyStart = 12 + Buffer.byteLength(speech.sessionId);
    this.#head = Buffer.alloc(this.#bodyStart + OFFSET_BYTES + SIZE_BYTES);
  }

  input(keys: Uint8Array): Uint8Array {
    return encodeFrame(FrameType.INPUT_TEXT, this.#sessionId, keys);
  }

  begin(): void {
    this.#length = 0;
    this.#small = [];
  }

  piece(bytes: Uint8Array): void {
    const start = this.#length;
    const headEnd = this.#bodyStart + OFFSET_BYTES;
    this.#length += bytes.length;
    if (start < this.#head.length) this.#head.set(bytes.subarray(0, this.#head.length - start), start);
    if (start < 4 && this.#length >= 4) this.#type = this.#head[3] ?? 0;
    if (this.#length < 4) return;
    if (this.#type === FrameType.OUTPUT) {
      if (this.#length <= headEnd) return;
      if (start <= headEnd) this.#position = Number(this.#head.readBigUInt64LE(this.#bodyStart));
      const output = bytes.subarray(Math.max(0, headEnd - start));
      this.#sink.output(output, this.#position);
      this.#position += output.length;
    } else if (this.#type !== FrameType.RESYNC && this.#length <= MAX_SMALL_FRAME_BYTES) {
      if (this.#small.length === 0) this.#small.push(Buffer.from(this.#head.subarray(0, start)));
      this.#small.push(Buffer.from(bytes));
    }
  }

  end(): void {
    if (this.#type === FrameType.RESYNC) {
      this.#sink.resync(Number(this.#head.readBigUInt64LE(this.#bodyStart)));
    } else if (this.#type === FrameType.SUBSCRIBED) {
      this.#sink.subscribed();
    } else if (this.#type === FrameType.ERROR) {
      this.#sink.failed(this.#text());
    } else if (this.#type === FrameType.EVENT && this.#text().includes('"session-exit"')) {
      this.#sink.ended();
    }
  }

  #text(): string {
    const frame = Buffer.concat(this.#small);
    return frame.subarray(12 + frame.readUInt32LE(4)).toString("utf8");
  }
}
