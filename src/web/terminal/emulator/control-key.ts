import { type ReadonlySignal, signal } from "@preact/signals";

/** A Control key for who has none: it is pressed before the letter, and holds for that one. */
export class ControlKey {
  readonly #isPressed = signal(false);

  get isPressed(): ReadonlySignal<boolean> {
    return this.#isPressed;
  }

  toggle(): void {
    this.#isPressed.value = !this.#isPressed.peek();
  }

  /** What was typed as it is meant. */
  meant(typed: Uint8Array): Uint8Array {
    if (!this.#isPressed.peek()) return typed;
    this.#isPressed.value = false;
    return asControl(typed);
  }
}

/** A letter, or one of `@[\\]^_`, as the control character that it makes; anything else as it is. */
function asControl(bytes: Uint8Array): Uint8Array {
  const [byte] = bytes;
  return bytes.length === 1 && byte !== undefined && byte >= 0x40 && byte < 0x7f
    ? Uint8Array.of(byte & 0x1f)
    : bytes;
}
