import type { Peer } from "./peer.ts";
import type { Workshop } from "./workshop.ts";

export type Metric = {
  readonly name: string;
  readonly unit: string;
  /** Digits after the point. */
  readonly digits: number;
  /** What the value of the same round is compared with. */
  readonly versus?: readonly Versus[];
};

/** A comparison with what the named peer came to in the same round. */
export type Versus = { readonly peer: string; readonly as: "ratio" | "difference" };

/** Values of one round, by metric; what does not apply to the peer is left out. */
export type Values = Readonly<Record<string, number>>;

export type Scenario = {
  readonly name: string;
  readonly title: string;
  /** Runs only when it is asked for by name. */
  readonly isOptional: boolean;
  readonly metrics: readonly Metric[];
  takes(peer: Peer): boolean;
  /** One round. Starts and ends whatever it needs; throws Error where the peer does not do its work. */
  run(peer: Peer, workshop: Workshop): Promise<Values>;
};
