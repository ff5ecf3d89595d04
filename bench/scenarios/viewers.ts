import type { Peer } from "../lib/peer.ts";
import { ProcessGroup } from "../lib/process-group.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const LOAD_MIB = 8;
const COUNTS = [1, 10, 50];

/** How the work grows with the number of people who look at one program. */
export const viewers: Scenario = {
  name: "viewers",
  title: `One session, ${COUNTS.join(", ")} viewers, ${LOAD_MIB} MiB of plain log lines to each`,
  isOptional: false,
  metrics: [
    ...COUNTS.flatMap((count): Metric[] => [
      { name: aggregate(count), unit: "MiB/s", digits: 0, versus: [{ peer: "ttyd", as: "ratio" }] },
      { name: slowest(count), unit: "s", digits: 3 },
    ]),
    { name: "10 to 1", unit: "times as long", digits: 2 },
    // Near 100 the viewers are what is slow, not the server.
    { name: "viewers' CPU at 50", unit: "% of a core", digits: 0 },
  ],
  takes: (peer) => peer.kind === "server",
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") return {};
  const work = workshop.load("plain", LOAD_MIB);
  await using stage = await Stage.open(peer, workshop);
  const values: Record<string, number> = {};
  const generator = new ProcessGroup([stage.viewers.pid], workshop.program);
  const perform = async (count: number): Promise<number> => {
    const audience = await stage.audience(work, count, peer.sharesSessions);
    const cpuBefore = generator.cpuSeconds();
    const { seconds } = await stage.perform(audience, peer.sharesSessions);
    values["viewers' CPU at 50"] = ((generator.cpuSeconds() - cpuBefore) / seconds) * 100;
    await Promise.all(audience.map((viewer) => viewer.close()));
    return seconds;
  };
  // Once for nothing: a single viewer's 8 MiB are over before code that never ran before is compiled.
  await perform(1);
  for (const count of COUNTS) {
    const seconds = await perform(count);
    values[aggregate(count)] = (count * work.bytes) / MIB / seconds;
    values[slowest(count)] = seconds;
  }
  values["10 to 1"] = (values[slowest(10)] ?? 0) / (values[slowest(1)] ?? 1);
  return values;
}

function aggregate(count: number): string {
  return `${count}: aggregate`;
}

function slowest(count: number): string {
  return `${count}: slowest`;
}
