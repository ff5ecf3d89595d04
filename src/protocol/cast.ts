// asciicast v2 (contract 3): a header line, then one line of JSON for each event.
import type { TerminalSize } from "./schemas/session.ts";

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
export function castHeader(header: CastHeader): string {
  const { width, height, timestamp, command, title, env } = header;
  return `${JSON.stringify({ version: 2, width, height, timestamp, command, title, env })}\n`;
}

/**
 * Makes the event lines of one recording, in order. Times have microseconds and never go back. A character whose bytes
 * are split over two chunks goes whole into the later line; bytes that are no UTF-8 become U+FFFD. Between two events it
 * holds at most 3 bytes of output and 3 of input.
 */
export class CastWriter {
  readonly #output = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #input = new TextDecoder("utf-8", { ignoreBOM: true });
  #microseconds = 0;

  /** The line of one event with its line feed; empty where all of its bytes wait for the rest of a character. */
  line(event: CastEvent): string {
    this.#advance(event.time);
    switch (event.kind) {
      case "output":
        return this.#text("o", this.#output.decode(event.bytes, { stream: true }));
      case "input":
        return this.#text("i", this.#input.decode(event.bytes, { stream: true }));
      case "resize":
        return this.#format("r", `${event.size.cols}x${event.size.rows}`);
      case "marker":
        return this.#format("m", event.label);
    }
  }

  /** The lines for characters that never became whole; the writer may then be used for more. */
  end(): string {
    return this.#text("o", this.#output.decode()) + this.#text("i", this.#input.decode());
  }

  #advance(time: number): void {
    const microseconds = Math.round(time * 1e6);
    if (microseconds > this.#microseconds && Number.isSafeInteger(microseconds))
      this.#microseconds = microseconds;
  }

  #text(code: "o" | "i", text: string): string {
    return text === "" ? "" : this.#format(code, text);
  }

  #format(code: "o" | "i" | "r" | "m", data: string): string {
    const seconds = Math.floor(this.#microseconds / 1e6);
    const fraction = String(this.#microseconds % 1e6).padStart(6, "0");
    return `[${seconds}.${fraction}, "${code}", ${JSON.stringify(data)}]\n`;
  }
}
