// k8s/monitoring: what the dashboard and the alerts ask for is what /metrics has, and each alert says what to do.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PAGE = read("docs/observability.md");

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});
const alerts = Rules.parse(parse(read("k8s/monitoring/alerts.yaml"))).groups.flatMap(({ rules }) => rules);

const Place = z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() });
const Panel = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().min(1),
  gridPos: Place,
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).optional(),
  fieldConfig: z
    .object({
      defaults: z.object({ unit: z.string(), thresholds: z.object({ steps: z.array(z.object({})) }) }),
    })
    .optional(),
});
const { panels, templating } = z
  .object({
    panels: z.array(Panel),
    templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
  })
  .parse(JSON.parse(read("k8s/monitoring/dashboard.json")));
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Names and types, of the tables in the docs, which a test holds to what a scrape shows. */
const documented = new Map(
  [...PAGE.matchAll(/^\| `(ttyhq_\w+)` \| (\w+) \|/gm)].map(([, name = "", type = ""]) => [name, type]),
);

/** What of a query is no figure of ours. */
function unknown(query: string): string[] {
  const names = [...query.matchAll(/\bttyhq_\w+/g)].map(([name]) => name);
  return names.filter((name) => {
    const base = name.replace(/_(?:bucket|sum|count)$/, "");
    return documented.get(base) === "histogram" ? base === name : !documented.has(name);
  });
}

test("every query of the dashboard uses existing metrics", () => {
  expect(queries.length).toBeGreaterThan(40);
  expect(queries.flatMap(unknown)).toEqual([]);
  for (const { query } of templating.list) expect(unknown(JSON.stringify(query))).toEqual([]);
});

test("counters are queried as rates, and nothing else is", () => {
  for (const query of [...queries, ...alerts.map(({ expr }) => expr)]) {
    for (const [, before = "", name = ""] of query.matchAll(/(\w+\()?\b(ttyhq_\w+)/g)) {
      const isCounted = /_(?:total|bucket|sum|count)$/.test(name);
      expect([query, isCounted]).toEqual([query, /^(?:rate|increase)\($/.test(before)]);
    }
  }
});

test("every panel has a name of its own, a unit and thresholds, and covers no other", () => {
  const shown = panels.filter(({ type }) => type !== "row");
  for (const { title, targets, fieldConfig } of shown) {
    expect([title, targets?.length]).not.toEqual([title, 0]);
    expect([title, fieldConfig?.defaults.unit]).toEqual([title, expect.stringMatching(/^\w+$/)]);
    expect(fieldConfig?.defaults.thresholds.steps.length).toBeGreaterThan(0);
  }
  for (const values of [panels.map(({ id }) => `${id}`), panels.map(({ title }) => title)])
    expect(new Set(values).size).toBe(values.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
});

test("every documented metric is on the dashboard, or listed as detail", () => {
  const closer = [
    "ttyhq_nodejs_heap_size",
    "ttyhq_nodejs_external_memory",
    "ttyhq_host_nodejs",
    "build_info",
  ];
  const others = ["process_start_time_seconds"];
  const left = [...documented.keys()].filter((name) => !queries.some((query) => query.includes(name)));
  expect(left.filter((name) => ![...closer, ...others].some((word) => name.includes(word)))).toEqual([]);
});

test("every alert uses existing metrics, and has a runbook section", () => {
  const headings = [...PAGE.matchAll(/^### (Ttyhq\w+)$/gm)].map(([, name = ""]) => name);
  expect(alerts.map(({ alert }) => alert)).toEqual(headings);
  for (const { alert, expr, annotations } of alerts) {
    expect([alert, unknown(expr)]).toEqual([alert, []]);
    expect(annotations.runbook).toBe(`docs/observability.md#${alert.toLowerCase()}`);
    expect(annotations.summary).toContain("{{ $labels.instance }}");
  }
});

test("every alert is tested with values that trigger it, and with others", () => {
  const tried = [...read("k8s/monitoring/alerts.test.yaml").matchAll(/^ {2}- name: (.+)$/gm)].map(
    ([, name = ""]) => name,
  );
  expect(tried).toEqual(alerts.flatMap(({ alert }) => [`${alert} fires`, `${alert} does not fire`]));
});
