import type { LoadKind } from "../lib/load.ts";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";
import { readLoad } from "../peers/reader.ts";

const LOAD_MIB = 64;
const GIB = 1024 * MIB;
const FLOOR = { peer: "floor", as: "ratio" } as const;
/** The fraction that remains through an HQ. */
const DIRECT = { peer: "ttyhq", as: "ratio" } as const;

/** The speed of one program's output to one viewer, and its cost for the server. */
export function throughput(kind: LoadKind): Scenario {
  const what = kind === "plain" ? "plain log lines" : "heavy ANSI and UTF-8";
  return {
    name: `throughput-${kind}`,
    title: `One viewer, ${LOAD_MIB} MiB of ${what}`,
    isOptional: false,
    metrics: [
      { name: "throughput", unit: "MiB/s", digits: 1, versus: [FLOOR, DIRECT] },
      {
        name: "CPU",
        unit: "s/GiB",
        digits: 2,
        versus: ["ttyd", "minimal"].map((peer) => ({ peer, as: "ratio" })),
      },
      { name: "peak memory", unit: "MiB", digits: 0 },
    ],
    takes: () => true,
    run: (peer, workshop) => run(kind, peer, workshop),
  };
}

async function run(kind: LoadKind, peer: Peer, workshop: Workshop): Promise<Values> {
  const work = workshop.load(kind, LOAD_MIB);
  if (peer.kind === "reader") {
    const result = await readLoad(peer, workshop, work);
    return values(work.bytes, result.seconds, result.cpuSeconds, result.peakBytes);
  }
  await using stage = await Stage.open(peer, workshop);
  const viewers = await stage.audience(work, 1, peer.sharesSessions);
  const { seconds, cpuSeconds } = await stage.perform(viewers, peer.sharesSessions);
  return values(work.bytes, seconds, cpuSeconds, stage.group.peakBytes());
}

function values(bytes: number, seconds: number, cpuSeconds: number, peakBytes: number): Values {
  return {
    throughput: bytes / MIB / seconds,
    CPU: (cpuSeconds * GIB) / bytes,
    "peak memory": peakBytes / MIB,
  };
}
