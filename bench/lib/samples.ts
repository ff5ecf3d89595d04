// Statistics of measured values, independent of the measurement.

/** The median and the extremes of a set of values. */
export type Spread = { readonly median: number; readonly min: number; readonly max: number };

/** Throws RangeError without values. */
export function spread(values: readonly number[]): Spread {
  return { median: percentile(values, 50), min: percentile(values, 0), max: percentile(values, 100) };
}

/** The value below which `percent` of the values lie, interpolated between its two neighbours. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new RangeError("no values");
  return below + (above - below) * (place - Math.floor(place));
}
