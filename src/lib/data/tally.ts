/** More kinds than are ever meant: over that a mistake, or an attacker, is counted as `other`. */
const MAX_KINDS = 2_000;
const OTHER = "other";

/** Counts by kind; a kind has a word for each of the names. Words must come from small closed sets. */
export class Tally<Name extends string> {
  readonly #names: readonly Name[];
  readonly #kinds = new Map<string, { readonly words: readonly string[]; count: number }>();

  constructor(...names: readonly Name[]) {
    this.#names = names;
  }

  /** Kinds that are shown before they are met: who looks at growth misses what appears with its first one. */
  expecting(...kinds: readonly (readonly string[])[]): this {
    for (const words of kinds) this.#kinds.set(words.join("\n"), { words, count: 0 });
    return this;
  }

  /** `words` in the order of the names. */
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
