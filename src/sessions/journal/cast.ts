// asciicast v2 (contract 3): a header line, then one line of JSON for each event.
import { isUtf8 } from "node:buffer";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { JournalEntry } from "./reader.ts";

const NOTHING = new Uint8Array(0);

/** The first line of a recording, with its line feed. */
export function castHeader(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return Buffer.from(`${JSON.stringify({ version: 2, ...fields })}\n`);
}

/**
 * Makes the event lines of one recording, in order. Times have microseconds and never go back. A character whose bytes
 * are split over two chunks goes whole into the later line; bytes that are no UTF-8 become U+FFFD. Between two events it
 * holds at most 3 bytes.
 */
export class CastWriter {
  readonly #characters = new WholeCharacters();
  #microseconds = 0;

  /** The line of one event with its line feed; empty for the exit, and for bytes of an incomplete character. */
  line(entry: JournalEntry): Uint8Array {
    this.#advance(entry.time);
    if (entry.kind === "o") return this.#output(this.#characters.take(entry.bytes));
    return entry.kind === "x" ? NOTHING : this.#format(entry.kind, jsonBytes(entry.data));
  }

  /** The line for a character that never became whole; the writer may then be used for more. */
  end(): Uint8Array {
    return this.#output(this.#characters.rest());
  }

  #advance(time: number): void {
    const microseconds = Math.round(time * 1e6);
    if (microseconds > this.#microseconds && Number.isSafeInteger(microseconds))
      this.#microseconds = microseconds;
  }

  /**
   * JSON escapes only ASCII, so valid UTF-8 is not decoded: each byte passes as a Latin-1 character. Decoding text of other
   * scripts would take several times as long.
   */
  #output(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return NOTHING;
    if (!isUtf8(bytes)) return this.#format("o", jsonBytes(decoder.decode(bytes)));
    const { buffer, byteOffset, length } = bytes;
    return this.#format("o", JSON.stringify(Buffer.from(buffer, byteOffset, length).toString("latin1")));
  }

  /** `json`: one Latin-1 character per byte. */
  #format(code: "o" | "i" | "r" | "m", json: string): Uint8Array {
    const seconds = Math.floor(this.#microseconds / 1e6);
    const fraction = String(this.#microseconds % 1e6).padStart(6, "0");
    return Buffer.from(`[${seconds}.${fraction}, "${code}", ${json}]\n`, "latin1");
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function jsonBytes(text: string): string {
  return Buffer.from(JSON.stringify(text)).toString("latin1");
}
