/** More than is ever intended: over that, by mistake or attack, `other` is counted. */
const MAX_KINDS = 2_000;
const OTHER = "other";

/** Counters by labels, whose values must come from small closed sets. */
export class Tally<Name extends string> {
  readonly #names: readonly Name[];
  readonly #kinds = new Map<string, { readonly words: readonly string[]; count: number }>();

  constructor(...names: readonly Name[]) {
    this.#names = names;
  }

  /** Starts these at 0, because rates miss the first increase of a new series. */
  expecting(...kinds: readonly (readonly string[])[]): this {
    for (const words of kinds) this.#kinds.set(words.join("\n"), { words, count: 0 });
    return this;
  }

  add(...words: readonly string[]): void {
    const key = words.join("\n");
    const known = this.#kinds.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#kinds.size < MAX_KINDS || words.every((word) => word === OTHER))
      this.#kinds.set(key, { words, count: 1 });
    else this.add(...words.map(() => OTHER));
  }

  *[Symbol.iterator](): Generator<readonly [Readonly<Record<string, string>>, number]> {
    for (const { words, count } of this.#kinds.values()) {
      yield [Object.fromEntries(this.#names.map((name, index) => [name, words[index] ?? OTHER])), count];
    }
  }
}
