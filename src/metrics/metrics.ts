import type { Registry } from "prom-client";
import { withDeadline } from "../lib/async/deadline.ts";
import { type Histogram, histogram } from "../lib/data/histogram.ts";
import { METRICS_TIMEOUT_MS } from "../protocol/limits.ts";

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

/** Labels are words from small closed sets, never an id. */
type MetricValue = number | boolean | Iterable<readonly [Readonly<Record<string, string>>, number]>;

type ReadValue = () => MetricValue | Promise<MetricValue>;
type ReadText = () => Promise<string>;

/**
 * Prometheus metrics, with the prefix `ttyhq_` and base units; a session is never a label. Values are read at each scrape;
 * a value that takes longer than METRICS_TIMEOUT_MS or fails is left out of that scrape. Add metrics before the first `text`.
 */
export type Metrics = {
  readonly type: string;
  text(): Promise<string>;
  gauge(name: string, help: string, read: ReadValue): void;
  /** Counts since the start; the name ends in `_total`. */
  counter(name: string, help: string, read: ReadValue): void;
  histogram(histogram: Histogram): void;
  /** The exposition of another process, and a gauge of that name which is 1 if the process answered. */
  other(name: string, help: string, read: ReadText): void;
};

/** `process`: the prefix of this process's own metrics. Nothing is loaded or measured before the first scrape. */
export function createMetrics({ process: prefix = "" }: { readonly process?: string } = {}): Metrics {
  const families: ReadText[] = [];
  const histograms: Histogram[] = [];
  const others: ReadText[] = [];
  let registry: Promise<Registry> | undefined;
  return {
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: async () => {
      registry ??= openRegistry(prefix, histograms);
      const library = await registry;
      const own = await Promise.all([...families, () => library.metrics()].map(inTime));
      const more = await Promise.all(others.map(inTime));
      return more.reduce(withNewFamilies, own.join("").replaceAll(/\n\n+/g, "\n"));
    },
    gauge: (name, help, read) =>
      void families.push(async () => familyText("gauge", name, help, await read())),
    counter: (name, help, read) =>
      void families.push(async () => familyText("counter", name, help, await read())),
    histogram: (each) => void histograms.push(each),
    other: (name, help, read) =>
      void others.push(async () => {
        const text = await inTime(read);
        return (await familyText("gauge", name, help, text !== "")) + text;
      }),
  };
}

/** A metric that fails does not affect the others. */
async function inTime(read: ReadText): Promise<string> {
  return await withDeadline(read(), METRICS_TIMEOUT_MS, "a metric").catch(() => "");
}

async function familyText(
  kind: "gauge" | "counter",
  name: string,
  help: string,
  value: MetricValue,
): Promise<string> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const samples = typeof value === "object" ? [...value] : [[{}, Number(value)] as const];
  const registry = new Registry();
  const labelNames = Object.keys(samples[0]?.[0] ?? {});
  const options = { name: `ttyhq_${name}`, help, labelNames, registers: [registry] };
  const metric: Pick<InstanceType<typeof Gauge>, "inc" | "remove"> = kind === "gauge"
    ? new Gauge(options)
    : new Counter(options);
  // Without labels the library begins with a sample of 0.
  metric.remove({});
  for (const [labels, number] of samples) metric.inc({ ...labels }, number);
  return await registry.metrics();
}

/** Appends another process's families, except those that the text has: an older session host has some of the same names. */
function withNewFamilies(text: string, other: string): string {
  const known = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
  let isNew = true;
  const lines = other.split("\n").filter((line) => {
    const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1];
    if (name !== undefined) isNew = !known.has(name);
    return isNew && line !== "";
  });
  return text + lines.map((line) => `${line}\n`).join("");
}

async function openRegistry(process: string, histograms: readonly Histogram[]): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  const prefix = `ttyhq_${process}`;
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  for (const { name } of registry.getMetricsAsArray()) {
    if (!PROCESS_METRICS.has(name.slice(prefix.length))) registry.removeSingleMetric(name);
  }
  const lag = histogram(
    `${process}event_loop_lag_seconds`,
    "How late this process ran timers that were due.",
  );
  observeLag(lag);
  for (const each of [lag, ...histograms]) registry.registerMetric(each);
  return registry;
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
