/** Listeners of one kind of event. A listener may remove listeners while it is called. */
export class Emitter<Event> {
  readonly #listeners = new Set<(event: Event) => void>();

  on(listener: (event: Event) => void): Disposable {
    // Wrapped, so that the same function can be added twice and removed separately.
    const entry = (event: Event): void => listener(event);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  emit(event: Event): void {
    for (const listener of [...this.#listeners]) if (this.#listeners.has(listener)) listener(event);
  }

  get size(): number {
    return this.#listeners.size;
  }
}
