import type { Duplex } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/**
 * Messages over a stream, one JSON text per line. A line over `maxLength` UTF-16 units, or one for which `onMessage`
 * throws, ends the stream.
 */
export class JsonLines {
  readonly #stream: Duplex;

  constructor(
    stream: Duplex,
    options: { readonly maxLength: number; readonly onMessage: (message: unknown) => void },
  ) {
    this.#stream = stream;
    const decoder = new StringDecoder("utf8");
    let pieces: string[] = [];
    let length = 0;
    stream.on("data", (bytes: Buffer) => {
      const lines = decoder.write(bytes).split("\n");
      for (const [index, part] of lines.entries()) {
        pieces.push(part);
        length += part.length;
        if (length > options.maxLength) return void stream.destroy(new RangeError("a message is too long"));
        if (index === lines.length - 1) return;
        const line = pieces.join("");
        [pieces, length] = [[], 0];
        if (!this.#take(line, options.onMessage)) return;
      }
    });
    // The `close` event reports the end.
    stream.on("error", () => undefined);
  }

  /** Dropped after the end. */
  send(message: object): void {
    if (this.#stream.writable) this.#stream.write(`${JSON.stringify(message)}\n`);
  }

  #take(line: string, onMessage: (message: unknown) => void): boolean {
    try {
      onMessage(JSON.parse(line));
      return !this.#stream.destroyed;
    } catch (error) {
      this.#stream.destroy(error instanceof Error ? error : undefined);
      return false;
    }
  }
}
