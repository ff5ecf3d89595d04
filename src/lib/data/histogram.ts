import type { Histogram } from "prom-client";
// The whole package takes 20 MB and 60 ms, in every process, whether or not its metrics are ever read; this file of it does not.
import PromHistogram from "prom-client/lib/histogram.js";

export type { Histogram };

/** In seconds. */
const DURATION_BUCKETS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30],
];

/** A Prometheus histogram, of durations unless it has other buckets. `name`: without `ttyhq_`. */
export function histogram<Label extends string = never>(
  name: string,
  help: string,
  {
    labels = [],
    buckets = DURATION_BUCKETS,
  }: { labels?: readonly Label[]; buckets?: readonly number[] } = {},
): Histogram<Label> {
  const labelNames = [...labels];
  return new PromHistogram({ name: `ttyhq_${name}`, help, labelNames, buckets: [...buckets], registers: [] });
}
