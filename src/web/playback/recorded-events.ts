// The events of a recording, in order. Output is kept in Blobs, which the browser stores outside the page's memory and
// moves to the disk, so that a long recording does not fill the page.
import type { CastFileEvent } from "../../protocol/asciicast.ts";
import type { TimedEvent } from "../../protocol/playback.ts";

/** Approximate characters of output in one Blob. */
const BLOB_CHARACTERS = 1024 * 1024;

type Place = { readonly blob: number; readonly index: number };

export class RecordedEvents {
  /** Events without the data of output. */
  readonly list: CastFileEvent[] = [];
  readonly #places: (Place | undefined)[] = [];
  /** Each is a JSON array of the data of its events. */
  readonly #blobs: Blob[] = [];
  #open: string[] = [];
  #openCharacters = 0;
  /** The Blob that was read last: events are read in order. */
  #read: { readonly blob: number; readonly data: readonly unknown[] } | undefined;

  add(event: CastFileEvent): void {
    if (event.code !== "o") {
      this.list.push(event);
      this.#places.push(undefined);
      return;
    }
    this.list.push({ ...event, data: "" });
    this.#places.push({ blob: this.#blobs.length, index: this.#open.length });
    this.#open.push(event.data);
    this.#openCharacters += event.data.length;
    if (this.#openCharacters < BLOB_CHARACTERS) return;
    this.#blobs.push(new Blob([JSON.stringify(this.#open)]));
    [this.#open, this.#openCharacters] = [[], 0];
  }

  /** The events with their data, including those added meanwhile. `passed`: called with the number of each. */
  async *withData(
    timed: () => readonly TimedEvent[],
    from: number,
    passed: (next: number) => void,
  ): AsyncGenerator<TimedEvent> {
    for (let next = from, event = timed()[next]; event !== undefined; event = timed()[next]) {
      next += 1;
      passed(next);
      const place = this.#places[next - 1];
      yield place === undefined ? event : { ...event, data: await this.#dataAt(place) };
    }
  }

  async #dataAt({ blob: number, index }: Place): Promise<string> {
    const blob = this.#blobs[number];
    if (blob === undefined) return this.#open[index] ?? "";
    if (this.#read?.blob !== number) {
      const data: unknown = JSON.parse(await blob.text());
      this.#read = { blob: number, data: Array.isArray(data) ? data : [] };
    }
    return String(this.#read.data[index]);
  }
}
