/** A queue in a circular array, with constant cost at the front. Grows as needed, never shrinks. */
export class Ring<T> {
  #items: (T | undefined)[] = new Array(16);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** `index`: from 0 at the front; negative from the end. */
  at(index: number): T | undefined {
    const place = index < 0 ? this.#length + index : index;
    if (place < 0 || place >= this.#length) return undefined;
    return this.#items[(this.#head + place) % this.#items.length];
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.#length; index++) {
      const item = this.at(index);
      if (item !== undefined) yield item;
    }
  }

  push(item: T): void {
    if (this.#length === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#length) % this.#items.length] = item;
    this.#length += 1;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#items.length;
    this.#length -= 1;
    return item;
  }

  replaceFirst(item: T): void {
    if (this.#length > 0) this.#items[this.#head] = item;
  }

  clear(): void {
    this.#items = new Array(16);
    this.#head = 0;
    this.#length = 0;
  }

  #grow(): void {
    const items: (T | undefined)[] = new Array(this.#items.length * 2);
    for (let index = 0; index < this.#length; index++) items[index] = this.at(index);
    this.#items = items;
    this.#head = 0;
  }
}
