import { type Spread, spread } from "./samples.ts";
import type { Metric, Scenario, Values } from "./scenario.ts";

/** One metric of one peer: a value for each round in which there was one. */
export type Column = {
  readonly metric: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly spread: Spread;
  /** Made round by round with the other peer's value of that round, then the middle taken. */
  readonly versus?: { readonly peer: string; readonly as: "ratio" | "difference"; readonly spread: Spread };
};

export type PeerTally = {
  readonly peer: string;
  readonly columns: readonly Column[];
  /** What went wrong, one sentence a round; such a round gives no values. */
  readonly failures: readonly string[];
};

export type ScenarioTally = {
  readonly name: string;
  readonly title: string;
  readonly peers: readonly PeerTally[];
};

const MAX_FAILURE_LENGTH = 400;

/** The values of one scenario as the rounds bring them. As many rounds as were asked for, which is what bounds it. */
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
    const column = { metric: metric.name, unit: metric.unit, values: [...values.values()] };
    const versus = this.#versus(values, metric);
    const whole = { ...column, spread: spread(column.values) };
    return versus === undefined ? whole : { ...whole, versus };
  }

  #versus(values: ReadonlyMap<number, number>, metric: Metric): Column["versus"] {
    if (metric.versus === undefined) return undefined;
    const { peer, as } = metric.versus;
    const others = this.#values(peer, metric.name);
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
