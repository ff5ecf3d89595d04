import type { Histogram } from "../../src/lib/data/histogram.ts";

/** What a histogram without labels has observed. */
export async function observationsOf(histogram: Histogram<never>): Promise<{ count: number; sum: number }> {
  const { values } = await histogram.get();
  const total = (end: string): number =>
    values.find(({ metricName }) => metricName?.endsWith(end))?.value ?? 0;
  return { count: total("_count"), sum: total("_sum") };
}
