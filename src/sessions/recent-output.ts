import type { OutputPiece } from "./output-batch.ts";

/** What is held of the output after the journal was stopped: at most 4 MiB, the oldest dropped first. */
const MAX_RECENT_BYTES = 4 * 1024 * 1024;

export class RecentOutput {
  readonly #pieces: OutputPiece[] = [];
  #bytes = 0;

  add(piece: OutputPiece): void {
    this.#pieces.push(piece);
    this.#bytes += piece.bytes.length;
    while (this.#bytes > MAX_RECENT_BYTES) {
      const oldest = this.#pieces.shift();
      if (oldest === undefined) return;
      this.#bytes -= oldest.bytes.length;
    }
  }

  /** Offset of the first byte that is held. */
  get start(): number {
    return this.#pieces[0]?.offset ?? 0;
  }

  /** The bytes from `from` up to `to`, as far as they are held. */
  *read(from: number, to: number): Generator<Uint8Array> {
    // A copy: pieces are added and dropped while a slow reader takes its time.
    for (const { offset, bytes } of [...this.#pieces]) {
      const begin = Math.max(0, from - offset);
      const end = Math.min(bytes.length, to - offset);
      if (begin < end) yield bytes.subarray(begin, end);
    }
  }
}
