import { Ring } from "../../../../src/lib/data/ring.ts";

const MAX_FRAMES = 20;
const SHOWN_BYTES = 60;

type Frame = {
  readonly at: string;
  readonly kind: string;
  readonly detail: string;
  readonly bytes: Uint8Array;
};

/** The last 20 frames of a session, each with its first bytes, for the message of a failure. */
export class RecentFrames {
  readonly #frames = new Ring<Frame>();

  /** The caller may change the bytes afterwards. */
  add(kind: string, detail: string, bytes: Uint8Array = new Uint8Array(0)): void {
    const at = new Date().toISOString();
    this.#frames.push({ at, kind, detail, bytes: bytes.slice(0, SHOWN_BYTES) });
    if (this.#frames.length > MAX_FRAMES) this.#frames.shift();
  }

  /** Empty without frames. */
  get text(): string {
    if (this.#frames.length === 0) return "";
    const lines = [...this.#frames].map(
      ({ at, kind, detail, bytes }) => `  ${at} ${kind} ${detail}${shown(bytes)}`,
    );
    return ["last frames:", ...lines].join("\n");
  }
}

function shown(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : ` ${JSON.stringify(new TextDecoder().decode(bytes))}`;
}
