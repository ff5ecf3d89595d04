import { setTimeout as sleep } from "node:timers/promises";
import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { SETTLE_MS, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";
import { readStart } from "../peers/reader.ts";

const STARTS = 40;
const AT_ONCE = 100;

/** From the request for a session, on a new connection, to the first byte of its program. */
export const start: Scenario = {
  name: "start",
  title: `Session start, create to first output: ${STARTS} one after the other, then ${AT_ONCE} at once`,
  isOptional: false,
  metrics: [
    { name: "p50", unit: "ms", digits: 2, versus: [{ peer: "minimal", as: "ratio" }] },
    { name: "p99", unit: "ms", digits: 1 },
    { name: "CPU", unit: "ms each", digits: 1 },
    { name: `all ${AT_ONCE}`, unit: "ms", digits: 0, versus: [{ peer: "ttyd", as: "ratio" }] },
  ],
  takes: () => true,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind === "reader") {
    const times = await readStart(peer, workshop, STARTS);
    return { p50: percentile(times, 50) / 1000, p99: percentile(times, 99) / 1000 };
  }
  await using stage = await Stage.open(peer, workshop);
  const work = workshop.echo();
  const startOne = async (): Promise<{ readonly beganUs: number; readonly firstUs: number }> => {
    const viewer = await stage.viewers.open(stage.server.session(work.words).first(), work.expectation);
    const { firstUs } = await viewer.wait("ready");
    if (firstUs === undefined) throw new Error("no output came");
    return { beganUs: viewer.beganUs, firstUs };
  };
  const times: number[] = [];
  const cpuBefore = stage.group.cpuSeconds();
  for (let i = 0; i < STARTS; i++) {
    const { beganUs, firstUs } = await startOne();
    times.push((firstUs - beganUs) / 1000);
  }
  await sleep(SETTLE_MS);
  const cpuSeconds = stage.group.cpuSeconds() - cpuBefore;
  const crowd = await Promise.all(Array.from({ length: AT_ONCE }, startOne));
  const lastUs = Math.max(...crowd.map((one) => one.firstUs));
  const firstUs = Math.min(...crowd.map((one) => one.beganUs));
  return {
    p50: percentile(times, 50),
    p99: percentile(times, 99),
    CPU: (cpuSeconds * 1000) / STARTS,
    [`all ${AT_ONCE}`]: (lastUs - firstUs) / 1000,
  };
}
