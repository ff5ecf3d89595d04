import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import { Stage } from "../lib/stage.ts";
import { ViewerProcess } from "../lib/viewer-process.ts";
import type { Workshop } from "../lib/workshop.ts";
import { readEcho } from "../peers/reader.ts";

const KEYS = 500;
/** Warm-up keys, which compile the code. */
const WARM_UP_KEYS = 300;
/** More output than any server can move while the keys are typed. */
const FLOOD_MIB = 16 * 1024;
/** Between an echo and the next key: long enough that all processes sleep again. */
const GAP_MS = 3;

/** The echo's latency: alone on the server, and while another session floods another viewer. */
export const echo: Scenario = {
  name: "echo",
  title: `Echo of one key, ${KEYS} keys: idle, and beside a session that pours output`,
  isOptional: false,
  metrics: [metric("idle p50", true), metric("idle p99"), metric("flood p50", true), metric("flood p99")],
  takes: () => true,
  run,
};

function metric(name: string, isCompared = false): Metric {
  const plain = { name, unit: "µs", digits: 0 };
  if (!isCompared) return plain;
  const differences = ["ttyhq-inline", "ttyhq"].map((peer) => ({ peer, as: "difference" }) as const);
  return { ...plain, versus: [{ peer: "minimal", as: "ratio" }, ...differences] };
}

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind === "reader") {
    const times = (await readEcho(peer, workshop, WARM_UP_KEYS + KEYS, GAP_MS)).slice(WARM_UP_KEYS);
    return { "idle p50": percentile(times, 50), "idle p99": percentile(times, 99) };
  }
  await using stage = await Stage.open(peer, workshop);
  const [typist] = await stage.audience(workshop.echo(), 1, peer.sharesSessions);
  if (typist === undefined) throw new Error("no viewer");
  await typist.echo(WARM_UP_KEYS, GAP_MS);
  const idle = await typist.echo(KEYS, GAP_MS);
  using others = new ViewerProcess();
  const flood = workshop.load("plain", FLOOD_MIB);
  const onlooker = await others.open(stage.server.session(flood.words).first(), flood.expectation);
  await onlooker.wait("ready");
  await others.press([onlooker]);
  const beside = await typist.echo(KEYS, GAP_MS);
  const { error, bytes } = await onlooker.sight();
  if (error !== undefined || bytes === 0) throw new Error(error ?? "the flood did not come");
  return {
    "idle p50": percentile(idle, 50),
    "idle p99": percentile(idle, 99),
    "flood p50": percentile(beside, 50),
    "flood p99": percentile(beside, 99),
  };
}
