import { type Spread, spread } from "./samples.ts";
import type { Metric, Scenario, Values, Versus } from "./scenario.ts";

/** One metric of one peer: the values of the successful rounds. */
export type Column = {
  readonly metric: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly spread: Spread;
  /** The metric's comparisons with participating peers. */
  readonly versus: readonly Comparison[];
};

/** Computed for each round with the other peer's value of that round, then the median. */
export type Comparison = Versus & { readonly spread: Spread };

export type PeerTally = {
  readonly peer: string;
  readonly columns: readonly Column[];
  /** One sentence for each failed round, which gives no values. */
  readonly failures: readonly string[];
};

export type ScenarioTally = {
  readonly name: string;
  readonly title: string;
  readonly peers: readonly PeerTally[];
};

const MAX_FAILURE_LENGTH = 400;

/** The values of one scenario by round. Bounded by the requested number of rounds. */
export class Tally {
  readonly #scenario: Scenario;
  /** By peer, then round. */
  readonly #rounds = new Map<string, Map<number, Values>>();
  readonly #failures = new Map<string, string[]>();

  constructor(scenario: Scenario, peers: readonly string[]) {
    this.#scenario = scenario;
    for (const peer of peers) {
      this.#rounds.set(peer, new Map());
      this.#failures.set(peer, []);
    }
  }

  add(peer: string, round: number, values: Values): void {
    this.#rounds.get(peer)?.set(round, values);
  }

  fail(peer: string, round: number, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.#failures.get(peer)?.push(`round ${round}: ${text.slice(0, MAX_FAILURE_LENGTH)}`);
  }

  result(): ScenarioTally {
    const { name, title, metrics } = this.#scenario;
    const peers = [...this.#rounds.keys()].map((peer) => ({
      peer,
      columns: metrics.flatMap((metric) => this.#column(peer, metric) ?? []),
      failures: this.#failures.get(peer) ?? [],
    }));
    return { name, title, peers };
  }

  #column(peer: string, metric: Metric): Column | undefined {
    const values = this.#values(peer, metric.name);
    if (values.size === 0) return undefined;
    const { name, unit, versus = [] } = metric;
    const all = [...values.values()];
    const comparisons = versus.flatMap((one) => this.#compare(values, name, one) ?? []);
    return { metric: name, unit, values: all, spread: spread(all), versus: comparisons };
  }

  #compare(values: ReadonlyMap<number, number>, metric: string, versus: Versus): Comparison | undefined {
    const { peer, as } = versus;
    const others = this.#values(peer, metric);
    const pairs = [...values].flatMap(([round, value]) => {
      const other = others.get(round);
      return other === undefined ? [] : [as === "ratio" ? value / other : value - other];
    });
    return pairs.length === 0 ? undefined : { peer, as, spread: spread(pairs) };
  }

  #values(peer: string, metric: string): ReadonlyMap<number, number> {
    const rounds = [...(this.#rounds.get(peer) ?? [])];
    return new Map(
      rounds.flatMap(([round, values]) => (values[metric] === undefined ? [] : [[round, values[metric]]])),
    );
  }
}
