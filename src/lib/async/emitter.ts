/** Listeners of one kind of event. A listener may remove itself or others while it is being called. */
export class Emitter<Event> {
  readonly #listeners = new Set<(event: Event) => void>();

  on(listener: (event: Event) => void): Disposable {
    // A wrapper of its own, so that the same function may listen twice and each is removed apart.
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
