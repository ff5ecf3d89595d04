/** Seconds, from what nobody notices to what nobody waits for. */
export const DURATION_BOUNDS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30],
];

/** Values counted by size. Its memory is given once, and observing makes no objects. */
export class Histogram {
  /** Upper bounds, each included, rising; what is larger than all of them is in `count` alone. */
  readonly bounds: readonly number[];
  readonly #counts: Float64Array;
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[] = DURATION_BOUNDS) {
    this.bounds = bounds;
    this.#counts = new Float64Array(bounds.length);
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    this.#count += 1;
    this.#sum += value;
    for (let index = 0; index < this.bounds.length; index++) {
      if (value > (this.bounds[index] ?? 0)) continue;
      this.#counts[index] = (this.#counts[index] ?? 0) + 1;
      return;
    }
  }

  /** For each bound, how many values were no larger. */
  upTo(): readonly number[] {
    let sum = 0;
    return Array.from(this.#counts, (count) => {
      sum += count;
      return sum;
    });
  }
}
