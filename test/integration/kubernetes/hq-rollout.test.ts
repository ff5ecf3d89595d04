import { expect, test } from "vitest";
import { CHANGE_TIMEOUT_MS } from "./kubectl.ts";
import { HQ_DEPLOYMENT } from "./kubernetes-cluster.ts";
import { Show } from "./show.ts";
import { stagedCluster } from "./staged-cluster.ts";

const VIEWERS = 20;
const REMOTES = ["ttyhq-remote-0", "ttyhq-remote-1"];
const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };

const stage = stagedCluster({ remotes: REMOTES.length });

/**
 * Replaces the HQ's pod. Resolves with the times of the request and of the next pod's readiness, of performance.now().
 */
async function updated(): Promise<{ readonly askedMs: number; readonly readyMs: number }> {
  const { cluster } = stage;
  const before = await cluster.hq();
  const askedMs = performance.now();
  await cluster.kubectl.does("rollout", "restart", HQ_DEPLOYMENT);
  await cluster.rolledOut(HQ_DEPLOYMENT);
  const readyMs = performance.now();
  expect((await cluster.hq()).metadata.uid).not.toBe(before.metadata.uid);
  return { askedMs, readyMs };
}

test("a rolling update of the HQ under 20 viewers: each goes on by itself at its byte, and has every byte once", async () => {
  const { cluster } = stage;
  using stack = new DisposableStack();
  const opening = REMOTES.map((remote) => Show.open(cluster, remote, VIEWERS / REMOTES.length));
  const shows = (await Promise.all(opening)).map((show) => stack.use(show));
  const viewers = shows.flatMap((show) => show.viewers);

  const { askedMs, readyMs } = await updated();
  await Promise.all(
    viewers.map((viewer) => viewer.until(() => viewer.reconnects > 0 || undefined, "the reconnect", LIMITS)),
  );
  await Promise.all(shows.map((show) => show.goesOn()));
  const { beganMs, ms } = shows
    .map(({ worst }) => worst)
    .reduce((worst, stall) => (stall.ms > worst.ms ? stall : worst));
  const since = (atMs: number): number => Math.round(atMs - askedMs);
  // The part of the stall before the pod was ready is Kubernetes' and the HQ's shutdown and start; the rest is ours.
  console.log(
    `rolling update of the HQ: the next pod was ready after ${since(readyMs)} ms; the worst stall of ${viewers.length} ` +
      `viewers was ${Math.round(ms)} ms, from ${since(beganMs)} to ${since(beganMs + ms)} ms`,
  );
  await Promise.all(shows.map((show) => show.finish()));
});
