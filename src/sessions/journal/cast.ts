// asciicast v2 (contract 3): a header line, then one line of JSON for each event.
import { isUtf8 } from "node:buffer";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";

const NOTHING = new Uint8Array(0);

/** What stands in the first line; members that are undefined are left out. */
export type CastHeader = {
  /** In cells. */
  readonly width: number;
  readonly height: number;
  /** When the session began, in whole seconds since 1970. */
  readonly timestamp: number;
  readonly command?: string | undefined;
  readonly title?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
};

/** `time` is in seconds since the session began. */
export type CastEvent =
  | { readonly kind: "output" | "input"; readonly time: number; readonly bytes: Uint8Array }
  | { readonly kind: "resize"; readonly time: number; readonly size: TerminalSize }
  | { readonly kind: "marker"; readonly time: number; readonly label: string };

/** The first line of a recording, with its line feed. */
export function castHeader(header: CastHeader): Uint8Array {
  const { width, height, timestamp, command, title, env } = header;
  return Buffer.from(`${JSON.stringify({ version: 2, width, height, timestamp, command, title, env })}\n`);
}

/**
 * Makes the event lines of one recording, in order. Times have microseconds and never go back. A character whose bytes
 * are split over two chunks goes whole into the later line; bytes that are no UTF-8 become U+FFFD. Between two events it
 * holds at most 3 bytes of output and 3 of input.
 */
export class CastWriter {
  readonly #output = new WholeCharacters();
  readonly #input = new WholeCharacters();
  #microseconds = 0;

  /** The line of one event with its line feed; empty where all of its bytes wait for the rest of a character. */
  line(event: CastEvent): Uint8Array {
    this.#advance(event.time);
    switch (event.kind) {
      case "output":
        return this.#characters("o", this.#output.take(event.bytes));
      case "input":
        return this.#characters("i", this.#input.take(event.bytes));
      case "resize":
        return this.#format("r", jsonBytes(`${event.size.cols}x${event.size.rows}`));
      case "marker":
        return this.#format("m", jsonBytes(event.label));
    }
  }

  /** The lines for characters that never became whole; the writer may then be used for more. */
  end(): Uint8Array {
    return Buffer.concat([
      this.#characters("o", this.#output.rest()),
      this.#characters("i", this.#input.rest()),
    ]);
  }

  #advance(time: number): void {
    const microseconds = Math.round(time * 1e6);
    if (microseconds > this.#microseconds && Number.isSafeInteger(microseconds))
      this.#microseconds = microseconds;
  }

  /**
   * JSON escapes bytes of ASCII alone, so that UTF-8 need not be decoded for it: each byte passes as a character. Text with
   * others than Latin characters would take several times as long.
   */
  #characters(code: "o" | "i", bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return NOTHING;
    if (!isUtf8(bytes)) return this.#format(code, jsonBytes(decoder.decode(bytes)));
    const { buffer, byteOffset, length } = bytes;
    return this.#format(code, JSON.stringify(Buffer.from(buffer, byteOffset, length).toString("latin1")));
  }

  /** `json`: with a character for each byte. */
  #format(code: "o" | "i" | "r" | "m", json: string): Uint8Array {
    const seconds = Math.floor(this.#microseconds / 1e6);
    const fraction = String(this.#microseconds % 1e6).padStart(6, "0");
    return Buffer.from(`[${seconds}.${fraction}, "${code}", ${json}]\n`, "latin1");
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Text as JSON in UTF-8, with a character for each byte. */
function jsonBytes(text: string): string {
  return Buffer.from(JSON.stringify(text)).toString("latin1");
}
