import type { Peer } from "./peer.ts";
import type { Workshop } from "./workshop.ts";

export type Metric = {
  readonly name: string;
  readonly unit: string;
  /** Digits after the point. */
  readonly digits: number;
  /** The comparisons with values of the same round. */
  readonly versus?: readonly Versus[];
};

/** A comparison with the named peer's value of the same round. */
export type Versus = { readonly peer: string; readonly as: "ratio" | "difference" };

/** Values of one round, by metric; inapplicable ones are left out. */
export type Values = Readonly<Record<string, number>>;

export type Scenario = {
  readonly name: string;
  readonly title: string;
  /** Runs only if it is named. */
  readonly isOptional: boolean;
  readonly metrics: readonly Metric[];
  takes(peer: Peer): boolean;
  /** One round. Starts and ends everything that it needs; throws Error if the peer fails. */
  run(peer: Peer, workshop: Workshop): Promise<Values>;
};
