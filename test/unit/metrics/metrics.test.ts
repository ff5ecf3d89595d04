import { expect, test } from "vitest";
import { histogram } from "../../../src/lib/data/histogram.ts";
import { createMetrics } from "../../../src/metrics/metrics.ts";

test("metrics are read at each scrape and have the prefix", async () => {
  const metrics = createMetrics();
  let count = 1;
  metrics.counter("things_total", "Things.", () => count);
  expect(await metrics.text()).toContain("\nttyhq_things_total 1\n");
  count = 2;
  expect(await metrics.text()).toContain("\nttyhq_things_total 2\n");
});

test("a metric that fails or never comes is left out", async () => {
  const metrics = createMetrics();
  metrics.gauge("lost", "Out of reach.", () => Promise.reject(new Error("out of reach")));
  metrics.gauge("late", "Never there.", () => new Promise(() => {}));
  metrics.gauge("here", "There.", () => 3);
  const text = await metrics.text();
  expect(text).toContain("ttyhq_here 3\n");
  expect(text).not.toMatch(/ttyhq_(?:lost|late)/);
});

test("a metric has a sample for each combination of labels, or none", async () => {
  const metrics = createMetrics();
  metrics.gauge("bytes", "How\nmuch \\.", () => [
    [{ way: "in", of: 'a"b\\c\nd' }, 1.5],
    [{ way: "out", of: "x" }, 0],
  ]);
  metrics.counter("kills_total", "Kills.", () => []);
  metrics.gauge("ready", "Whether it is ready.", () => true);
  const text = await metrics.text();
  expect(text.match(/^.*ttyhq_(?:bytes|kills_total|ready).*$/gm)).toEqual([
    "# HELP ttyhq_bytes How\\nmuch \\\\.",
    "# TYPE ttyhq_bytes gauge",
    'ttyhq_bytes{way="in",of="a\\"b\\\\c\\nd"} 1.5',
    'ttyhq_bytes{way="out",of="x"} 0',
    "# HELP ttyhq_kills_total Kills.",
    "# TYPE ttyhq_kills_total counter",
    "# HELP ttyhq_ready Whether it is ready.",
    "# TYPE ttyhq_ready gauge",
    "ttyhq_ready 1",
  ]);
  expect(text).not.toMatch(/\n\n/);
});

test("samples with the same labels are added, so that a scraper does not refuse them", async () => {
  const metrics = createMetrics();
  metrics.counter("shipped_total", "Shipped.", () => [
    [{ receiver: "https://logs.example" }, 2],
    [{ receiver: "https://logs.example" }, 3],
  ]);
  expect((await metrics.text()).match(/^ttyhq_shipped_total.*$/gm)).toEqual([
    'ttyhq_shipped_total{receiver="https://logs.example"} 5',
  ]);
});

test("a histogram has cumulative buckets, a sum and a count for each label", async () => {
  const metrics = createMetrics();
  const times = histogram("things_seconds", "Time.", { labels: ["of"], buckets: [1, 2] });
  metrics.histogram(times);
  for (const value of [0.5, 1.5, 9]) times.observe({ of: "x" }, value);
  const text = await metrics.text();
  expect(text.match(/^.*things_seconds.*$/gm)).toEqual([
    "# HELP ttyhq_things_seconds Time.",
    "# TYPE ttyhq_things_seconds histogram",
    'ttyhq_things_seconds_bucket{le="1",of="x"} 1',
    'ttyhq_things_seconds_bucket{le="2",of="x"} 2',
    'ttyhq_things_seconds_bucket{le="+Inf",of="x"} 3',
    'ttyhq_things_seconds_sum{of="x"} 11',
    'ttyhq_things_seconds_count{of="x"} 3',
  ]);
});

test("another process has a gauge of its own, whether or not it answers", async () => {
  const metrics = createMetrics();
  metrics.gauge("here", "There.", () => 3);
  let answer = () =>
    Promise.resolve("# TYPE ttyhq_here gauge\nttyhq_here 4\n# TYPE ttyhq_there gauge\nttyhq_there 5\n");
  metrics.other("other_up", "Whether it answers.", () => answer());
  const whole = await metrics.text();
  expect(whole).toContain("ttyhq_other_up 1\n");
  expect(whole).toContain("ttyhq_there 5\n");
  expect(whole.match(/^ttyhq_here .*$/gm)).toEqual(["ttyhq_here 3"]);
  answer = () => Promise.reject(new Error("gone"));
  const without = await metrics.text();
  expect(without).toContain("ttyhq_other_up 0\n");
  expect(without).not.toContain("ttyhq_there");
});

test("the process's own metrics have the given prefix", async () => {
  const names = (await createMetrics({ process: "host_" }).text()).match(/^# TYPE (\S+)/gm) ?? [];
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((line) => !line.startsWith("# TYPE ttyhq_host_"))).toEqual([]);
  expect(names).toContain("# TYPE ttyhq_host_event_loop_lag_seconds");
});
