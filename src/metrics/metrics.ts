import type { Registry } from "prom-client";
import { withDeadline } from "../lib/async/deadline.ts";
import { METRICS_TIMEOUT_MS } from "../protocol/limits.ts";
import {
  familiesBeside,
  familiesOf,
  type HistogramValue,
  histogramLines,
  type MetricValue,
  valueLines,
} from "./exposition.ts";
import { LoopLag } from "./loop-lag.ts";

/** For the library's own look at the event loop, which is not shown: its default of 10 ms costs half a percent of a core. */
const EVENT_LOOP_SAMPLE_MS = 1_000;

/** The library's metrics that are exposed. The others mislead, or their names break Prometheus' rules. */
const PROCESS_METRICS: ReadonlySet<string> = new Set([
  ...["process_cpu_user_seconds_total", "process_cpu_system_seconds_total", "process_start_time_seconds"],
  ...["process_resident_memory_bytes", "process_open_fds", "process_max_fds"],
  ...["nodejs_heap_size_used_bytes", "nodejs_heap_size_total_bytes", "nodejs_external_memory_bytes"],
  "nodejs_gc_duration_seconds",
]);

/**
 * Prometheus metrics, `ttyhq_` in front and base units; no session ever is a label. Values are read on
 * each scrape; a value that takes longer than METRICS_TIMEOUT_MS or fails is left out of that answer. Add metrics before
 * the first `text`.
 */
export type Metrics = {
  readonly type: string;
  text(): Promise<string>;
  gauge(name: string, help: string, read: () => MetricValue | Promise<MetricValue>): void;
  /** What only grows, counted since the start; the name ends in `_total`. */
  counter(name: string, help: string, read: () => MetricValue | Promise<MetricValue>): void;
  histogram(name: string, help: string, read: () => HistogramValue): void;
  /** What another process says of itself, and a gauge of that name which is 1 when it says anything. */
  other(name: string, help: string, read: () => Promise<string>): void;
};

type ReadMetric = () => Promise<string>;

/** `process`: the prefix of this process's own metrics. Nothing is loaded or measured before somebody asks. */
export function createMetrics({ process: prefix = "ttyhq_" }: { readonly process?: string } = {}): Metrics {
  const families: ReadMetric[] = [];
  const others: ReadMetric[] = [];
  let own: Promise<ReadMetric> | undefined;
  const family = (name: string, help: string) => ({ name: `ttyhq_${name}`, help });
  return {
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: async () => {
      own ??= processMetrics(prefix);
      const text = (await Promise.all([...families, await own].map(inTime))).join("");
      const names = new Set(familiesOf(text));
      const more = await Promise.all(others.map(inTime));
      return text + more.map((each) => familiesBeside(each, names)).join("");
    },
    gauge: (name, help, read) =>
      void families.push(async () => valueLines(family(name, help), "gauge", await read())),
    counter: (name, help, read) =>
      void families.push(async () => valueLines(family(name, help), "counter", await read())),
    histogram: (name, help, read) =>
      void families.push(async () => histogramLines(family(name, help), read())),
    other: (name, help, read) =>
      void others.push(async () => {
        const text = await inTime(read);
        return valueLines(family(name, help), "gauge", text === "" ? 0 : 1) + text;
      }),
  };
}

/** A metric that fails leaves the others in the answer. */
async function inTime(read: ReadMetric): Promise<string> {
  return await withDeadline(read(), METRICS_TIMEOUT_MS, "a metric").catch(() => "");
}

async function processMetrics(prefix: string): Promise<ReadMetric> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry: Registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  for (const { name } of await registry.getMetricsAsJSON()) {
    if (!PROCESS_METRICS.has(name.slice(prefix.length))) registry.removeSingleMetric(name);
  }
  const lag = new LoopLag(() => performance.now());
  const help = "How late this process got to what was due.";
  const name = `${prefix}event_loop_lag_seconds`;
  return async () => histogramLines({ name, help }, lag.histogram) + wholeLines(await registry.metrics());
}

/** The library leaves a line empty after each family, and the last one without its end. */
function wholeLines(text: string): string {
  return `${text.replaceAll(/\n\n+/g, "\n").trimEnd()}\n`;
}
