import { withDeadline } from "../lib/async/deadline.ts";
import { type Histogram, histogram } from "../lib/data/histogram.ts";
import { METRICS_TIMEOUT_MS } from "../protocol/limits.ts";
import { familiesBeside, familiesOf, type MetricValue, valueLines } from "./exposition.ts";

/** The library's own event loop metrics are not exposed; sampling at its default of 10 ms costs half a percent of a core. */
const EVENT_LOOP_SAMPLE_MS = 1_000;
/** Seldom enough to cost an idle process nothing measurable. */
const LAG_SAMPLE_MS = 500;

/** The library's metrics that are exposed. The others mislead, or their names break Prometheus' rules. */
const PROCESS_METRICS: ReadonlySet<string> = new Set([
  ...["process_cpu_user_seconds_total", "process_cpu_system_seconds_total", "process_start_time_seconds"],
  ...["process_resident_memory_bytes", "process_open_fds", "process_max_fds"],
  ...["nodejs_heap_size_used_bytes", "nodejs_heap_size_total_bytes", "nodejs_external_memory_bytes"],
  "nodejs_gc_duration_seconds",
]);

/**
 * Prometheus metrics, with the prefix `ttyhq_` and base units; a session is never a label. Values are read at each scrape;
 * a value that takes longer than METRICS_TIMEOUT_MS or fails is left out of that scrape. Add metrics before the first `text`.
 */
export type Metrics = {
  readonly type: string;
  text(): Promise<string>;
  gauge(name: string, help: string, read: () => MetricValue | Promise<MetricValue>): void;
  /** Counts since the start; the name ends in `_total`. */
  counter(name: string, help: string, read: () => MetricValue | Promise<MetricValue>): void;
  histogram(histogram: Histogram): void;
  /** The exposition of another process, and a gauge of that name which is 1 if the process answered. */
  other(name: string, help: string, read: () => Promise<string>): void;
};

type ReadMetric = () => Promise<string>;

/** `process`: the prefix of this process's own metrics. Nothing is loaded or measured before the first scrape. */
export function createMetrics({ process: prefix = "" }: { readonly process?: string } = {}): Metrics {
  const families: ReadMetric[] = [];
  const histograms: Histogram[] = [];
  const others: ReadMetric[] = [];
  let registry: Promise<ReadMetric> | undefined;
  const family = (name: string, help: string) => ({ name: `ttyhq_${name}`, help });
  const add =
    (kind: "gauge" | "counter"): Metrics["gauge"] =>
    (name, help, read) =>
      void families.push(async () => valueLines(family(name, help), kind, await read()));
  return {
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: async () => {
      registry ??= openRegistry(prefix, histograms);
      const text = (await Promise.all([...families, await registry].map(inTime))).join("");
      const names = new Set(familiesOf(text));
      const more = await Promise.all(others.map(inTime));
      return text + more.map((each) => familiesBeside(each, names)).join("");
    },
    gauge: add("gauge"),
    counter: add("counter"),
    histogram: (each) => void histograms.push(each),
    other: (name, help, read) =>
      void others.push(async () => {
        const text = await inTime(read);
        return valueLines(family(name, help), "gauge", text === "" ? 0 : 1) + text;
      }),
  };
}

/** A metric that fails does not affect the others. */
async function inTime(read: ReadMetric): Promise<string> {
  return await withDeadline(read(), METRICS_TIMEOUT_MS, "a metric").catch(() => "");
}

async function openRegistry(process: string, histograms: readonly Histogram[]): Promise<ReadMetric> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  const prefix = `ttyhq_${process}`;
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  for (const { name } of await registry.getMetricsAsJSON()) {
    if (!PROCESS_METRICS.has(name.slice(prefix.length))) registry.removeSingleMetric(name);
  }
  const lag = histogram(
    `${process}event_loop_lag_seconds`,
    "How late this process ran timers that were due.",
  );
  observeLag(lag);
  for (const each of [lag, ...histograms]) registry.registerMetric(each);
  // The library leaves an empty line after each family.
  return async () => `${(await registry.metrics()).replaceAll(/\n\n+/g, "\n").trimEnd()}\n`;
}

/** The library's own lag metric includes its sampling interval in every value. */
function observeLag(lag: Histogram): void {
  let due = performance.now() + LAG_SAMPLE_MS;
  setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - due) / 1000);
    due = now + LAG_SAMPLE_MS;
  }, LAG_SAMPLE_MS).unref();
}
