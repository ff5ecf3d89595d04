import type { Spread } from "./samples.ts";
import type { Metric, Scenario, Versus } from "./scenario.ts";
import type { Column, Comparison, PeerTally, ScenarioTally } from "./tally.ts";

const RATIO_DIGITS = 2;

/** A scenario's results in Markdown: a row for each peer, "median (least to most)" in each cell. */
export function table(scenario: Scenario, tally: ScenarioTally): string {
  if (tally.peers.length === 0)
    return `### ${tally.name}: ${tally.title}\n\nnone of these peers can do that\n`;
  const comparisons = (metric: Metric): readonly Versus[] =>
    (metric.versus ?? []).filter((versus) =>
      tally.peers.some((peer) => comparison(column(peer, metric), versus) !== undefined),
    );
  const heads = scenario.metrics.flatMap((metric) => [
    `${metric.name}, ${metric.unit}`,
    ...comparisons(metric).map(versusHead),
  ]);
  const rows = tally.peers.map((peer) => [
    peer.peer,
    ...scenario.metrics.flatMap((metric) => {
      const found = column(peer, metric);
      const plain = found === undefined ? "-" : cell(found.spread, metric.digits);
      return [plain, ...comparisons(metric).map((versus) => versusCell(found, versus, metric))];
    }),
  ]);
  const failures = tally.peers.flatMap((peer) =>
    peer.failures.map((failure) => `\n${peer.peer} failed: ${failure}`),
  );
  return [
    `### ${tally.name}: ${tally.title}\n`,
    ...align([["peer", ...heads], ...rows]),
    ...failures,
    "",
  ].join("\n");
}

function column(peer: PeerTally, metric: Metric): Column | undefined {
  return peer.columns.find((one) => one.metric === metric.name);
}

function comparison(found: Column | undefined, { peer, as }: Versus): Comparison | undefined {
  return found?.versus.find((one) => one.peer === peer && one.as === as);
}

function versusHead({ peer, as }: Versus): string {
  return as === "ratio" ? `× ${peer}` : `− ${peer}`;
}

function versusCell(found: Column | undefined, versus: Versus, metric: Metric): string {
  const compared = comparison(found, versus);
  if (compared === undefined) return "-";
  return cell(compared.spread, versus.as === "ratio" ? RATIO_DIGITS : metric.digits);
}

function cell(values: Spread, digits: number): string {
  const [median, min, max] = [values.median, values.min, values.max].map((value) => value.toFixed(digits));
  return min === max ? `${median}` : `${median} (${min} to ${max})`;
}

function align(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((text, at) => text.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [lines[0] ?? "", rule, ...lines.slice(1)];
}
