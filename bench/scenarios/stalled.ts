import type { Peer, ServerPeer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage, wholeUs } from "../lib/stage.ts";
import { ViewerProcess } from "../lib/viewer-process.ts";
import type { Workshop } from "../lib/workshop.ts";

const LOAD_MIB = 64;
const SLOW_BYTES_PER_S = 2 * MIB;

/** The cost of slow viewers for a fast one and the server, and how soon they catch up. */
export const stalled: Scenario = {
  name: "stalled",
  title: `A fast viewer, one that reads ${SLOW_BYTES_PER_S / MIB} MiB/s and one that reads nothing; ${LOAD_MIB} MiB`,
  isOptional: false,
  metrics: [
    { name: "fast alone", unit: "MiB/s", digits: 1 },
    { name: "fast beside them", unit: "MiB/s", digits: 1 },
    { name: "fast loses", unit: "%", digits: 1 },
    { name: "memory grows", unit: "MiB", digits: 1 },
    { name: "stalled right after", unit: "ms", digits: 1 },
    { name: "slow right after", unit: "ms", digits: 1 },
  ],
  // In other servers the stalled viewer's program stops, without affecting others.
  takes: (peer) => peer.kind === "server" && peer.sharesSessions,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") return {};
  // Alone before and after, so that a changing speed of the machine does not decide.
  const before = await performAlone(peer, workshop);
  const beside = await performBeside(peer, workshop);
  const after = await performAlone(peer, workshop);
  const aloneSpeed = (before.speed + after.speed) / 2;
  return {
    "fast alone": aloneSpeed,
    "fast beside them": beside.speed,
    "fast loses": (1 - beside.speed / aloneSpeed) * 100,
    "memory grows": (beside.peakBytes - (before.peakBytes + after.peakBytes) / 2) / MIB,
    "stalled right after": beside.stalledMs,
    "slow right after": beside.slowMs,
  };
}

type Performance = { readonly speed: number; readonly peakBytes: number };

async function performAlone(peer: ServerPeer, workshop: Workshop): Promise<Performance> {
  const work = workshop.load("plain", LOAD_MIB);
  await using stage = await Stage.open(peer, workshop);
  const { seconds } = await stage.perform(await stage.audience(work, 1, true), true);
  return { speed: work.bytes / MIB / seconds, peakBytes: stage.group.peakBytes() };
}

async function performBeside(
  peer: ServerPeer,
  workshop: Workshop,
): Promise<Performance & { readonly stalledMs: number; readonly slowMs: number }> {
  const work = workshop.load("plain", LOAD_MIB);
  await using stage = await Stage.open(peer, workshop);
  using laggards = new ViewerProcess();
  const session = stage.server.session(work.words);
  const fast = await stage.viewers.open(session.first(), work.expectation);
  await fast.wait("ready");
  const slow = await laggards.open(session.next(), work.expectation);
  const sleeper = await laggards.open(session.next(), work.expectation);
  await slow.throttle(SLOW_BYTES_PER_S);
  await sleeper.pause();
  const { seconds } = await stage.perform([fast], true);
  const peakBytes = stage.group.peakBytes();
  const stalledMs = (await between(sleeper.resume(), () => sleeper.wait("whole").then(wholeUs))) / 1000;
  const slowMs = (await between(slow.throttle(undefined), () => slow.wait("whole").then(wholeUs))) / 1000;
  return { speed: work.bytes / MIB / seconds, peakBytes, stalledMs, slowMs };
}

/** Microseconds between the two. */
async function between(began: Promise<number>, ended: () => Promise<number>): Promise<number> {
  const beganUs = await began;
  return (await ended()) - beganUs;
}
