import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** Prometheus metrics, `ttyhq_` in front and base units; no session ever is a label. */
export type Metrics = {
  readonly type: string;
  text(): Promise<string>;
  /** A figure that is looked up when somebody asks. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
};

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "ttyhq_" });
  return {
    type: registry.contentType,
    text: () => registry.metrics(),
    gauge: (name, help, read) => {
      const registers = [registry];
      new Gauge({
        name: `ttyhq_${name}`,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      });
    },
  };
}
