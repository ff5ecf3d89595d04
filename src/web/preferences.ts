// What a person chose on this device. Kept in the browser, never sent.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { z } from "zod";
import type { BrowserStorage } from "./browser-storage.ts";

const KEY = "ttyhq.preferences";
export const MIN_FONT_SIZE_PX = 9;
export const MAX_FONT_SIZE_PX = 28;
const DEFAULT_FONT_SIZE_PX = 14;

/** Of the list of sessions; by machine: on an HQ, else as `newest`. */
export const ListOrder = z.enum(["machine", "newest", "activity", "name"]);
export type ListOrder = z.infer<typeof ListOrder>;

const Stored = z.object({
  fontSizePx: z.int().min(MIN_FONT_SIZE_PX).max(MAX_FONT_SIZE_PX).catch(DEFAULT_FONT_SIZE_PX),
  screenReader: z.boolean().catch(false),
  /** On an HQ: the name of the machine that the last session was started on. */
  machine: z.string().catch(""),
  order: ListOrder.catch("machine"),
});
type Stored = z.infer<typeof Stored>;

export class Preferences {
  readonly #storage: BrowserStorage;
  readonly #value: Signal<Stored>;

  constructor(storage: BrowserStorage) {
    this.#storage = storage;
    this.#value = signal(read(storage));
  }

  get current(): ReadonlySignal<Stored> {
    return this.#value;
  }

  /** Pixels; taken to the nearest that is allowed. */
  setFontSize(px: number): void {
    this.#change({ fontSizePx: Math.min(MAX_FONT_SIZE_PX, Math.max(MIN_FONT_SIZE_PX, px)) });
  }

  setScreenReader(isOn: boolean): void {
    this.#change({ screenReader: isOn });
  }

  /** The name of the machine that the next session is started on. */
  setMachine(name: string): void {
    this.#change({ machine: name });
  }

  setOrder(order: ListOrder): void {
    this.#change({ order });
  }

  #change(part: Partial<Stored>): void {
    this.#value.value = { ...this.#value.value, ...part };
    this.#storage.set(KEY, JSON.stringify(this.#value.value));
  }
}

function read(storage: BrowserStorage): Stored {
  try {
    return Stored.catch(Stored.parse({})).parse(JSON.parse(storage.get(KEY) ?? "{}"));
  } catch {
    return Stored.parse({});
  }
}
