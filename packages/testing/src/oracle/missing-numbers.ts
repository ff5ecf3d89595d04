/** Maximum of held gaps; further gaps are only summed up. */
const MAX_GAPS = 1_000;

/** Skipped numbers of a sequence that may still arrive. Holds at most 1,000 gaps. */
export class MissingNumbers {
  readonly #gaps: { readonly first: number; readonly last: number }[] = [];
  #count = 0;

  /** The number of missing ones. */
  get count(): number {
    return this.#count;
  }

  /** From `first` to `last`, both included; none of them was added before. */
  add(first: number, last: number): void {
    this.#count += last - first + 1;
    if (this.#gaps.length < MAX_GAPS) this.#gaps.push({ first, last });
  }

  /** Removes a number that has arrived. False if it was not missing. */
  take(number: number): boolean {
    const index = this.#gaps.findIndex(({ first, last }) => first <= number && number <= last);
    const gap = this.#gaps[index];
    if (gap === undefined) return false;
    const rest = [
      { first: gap.first, last: number - 1 },
      { first: number + 1, last: gap.last },
    ];
    this.#gaps.splice(index, 1, ...rest.filter(({ first, last }) => first <= last));
    this.#count -= 1;
    return true;
  }

  /** Whether a number from `first` to `last` is known to be missing. */
  isAnyOf(first: number, last: number): boolean {
    return this.#gaps.some((gap) => gap.first <= last && first <= gap.last);
  }
}
