import type { Registry } from "prom-client";

/** The library's own default of 10 ms costs an idle server half a percent of a core. */
const EVENT_LOOP_SAMPLE_MS = 1_000;

/** Prometheus metrics, `ttyhq_` in front and base units; no session ever is a label. */
export type Metrics = {
  readonly type: string;
  text(): Promise<string>;
  /** A figure that is looked up when somebody asks. To be added before the first `text`. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** The same for what only grows, counted since the start; the name ends in `_total`. */
  counter(name: string, help: string, read: () => number): void;
};

type Figure = { readonly name: string; readonly help: string } & (
  | { readonly kind: "gauge"; readonly read: () => number | Promise<number> }
  | { readonly kind: "counter"; readonly read: () => number }
);

/** Nothing is loaded or measured before somebody asks: most session hosts are never scraped. */
export function createMetrics(): Metrics {
  const figures: Figure[] = [];
  let registry: Promise<Registry> | undefined;
  return {
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: async () => {
      registry ??= createRegistry(figures);
      return (await registry).metrics();
    },
    gauge: (name, help, read) => void figures.push({ kind: "gauge", name, help, read }),
    counter: (name, help, read) => void figures.push({ kind: "counter", name, help, read }),
  };
}

async function createRegistry(figures: readonly Figure[]): Promise<Registry> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const options = {
    register: registry,
    prefix: "ttyhq_",
    eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
  };
  collectDefaultMetrics(options);
  for (const { kind, name, help, read } of figures) {
    const common = { name: `ttyhq_${name}`, help, registers: [registry] };
    if (kind === "counter") {
      new Counter({
        ...common,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    } else {
      new Gauge({
        ...common,
        async collect() {
          this.set(await read());
        },
      });
    }
  }
  return registry;
}
