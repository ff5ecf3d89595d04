import type { Peer } from "../lib/peer.ts";
import { ProcessGroup } from "../lib/process-group.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

/** The time for the second count relative to the first. */
const GROWTH = "second to first";

type Crowds = {
  readonly name: string;
  readonly isOptional: boolean;
  /** The numbers of viewers, one after the other. */
  readonly counts: readonly number[];
  /** For each viewer. */
  readonly loadMib: number;
};

/** How the work grows with the number of viewers of one program. */
export function viewers(crowds: Crowds): Scenario {
  const { name, isOptional, counts, loadMib } = crowds;
  return {
    ...{ name, isOptional },
    title: `One session, ${counts.join(", ")} viewers, ${loadMib} MiB of plain log lines to each`,
    metrics: [...counts.flatMap(metricsOf), { name: GROWTH, unit: "times as long", digits: 2 }],
    takes: (peer) => peer.kind === "server",
    run: (peer, workshop) => run(crowds, peer, workshop),
  };
}

function metricsOf(count: number): readonly Metric[] {
  return [
    { name: aggregate(count), unit: "MiB/s", digits: 0, versus: [{ peer: "ttyd", as: "ratio" }] },
    { name: slowest(count), unit: "s", digits: 3 },
    { name: cpu(count), unit: "% of a core", digits: 0 },
    // Near 100 the viewers are the bottleneck, not the server.
    { name: viewersCpu(count), unit: "% of a core", digits: 0 },
    { name: memory(count), unit: "MiB", digits: 0 },
  ];
}

async function run({ counts, loadMib }: Crowds, peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") return {};
  const work = workshop.load("plain", loadMib);
  await using stage = await Stage.open(peer, workshop);
  const values: Record<string, number> = {};
  const generator = new ProcessGroup([stage.viewers.pid], workshop.program);
  const perform = async (count: number): Promise<void> => {
    const audience = await stage.audience(work, count, peer.sharesSessions);
    const before = { server: stage.group.cpuSeconds(), viewers: generator.cpuSeconds() };
    const { seconds } = await stage.perform(audience, peer.sharesSessions);
    values[aggregate(count)] = (count * work.bytes) / MIB / seconds;
    values[slowest(count)] = seconds;
    values[cpu(count)] = ((stage.group.cpuSeconds() - before.server) / seconds) * 100;
    values[viewersCpu(count)] = ((generator.cpuSeconds() - before.viewers) / seconds) * 100;
    values[memory(count)] = stage.group.peakBytes() / MIB;
    await Promise.all(audience.map((viewer) => viewer.close()));
  };
  // A warm-up run: a single viewer's 8 MiB are over before new code is compiled.
  await perform(1);
  for (const count of counts) await perform(count);
  const [first = 1, second = 1] = counts;
  values[GROWTH] = (values[slowest(second)] ?? 0) / (values[slowest(first)] ?? 1);
  return values;
}

function aggregate(count: number): string {
  return `${count}: aggregate`;
}

function slowest(count: number): string {
  return `${count}: slowest`;
}

function cpu(count: number): string {
  return `${count}: CPU`;
}

function viewersCpu(count: number): string {
  return `${count}: viewers' CPU`;
}

function memory(count: number): string {
  return `${count}: peak memory`;
}
