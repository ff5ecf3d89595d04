import { expect, test } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { CHANGE_TIMEOUT_MS } from "./kubectl.ts";
import { HQ_DEPLOYMENT } from "./kubernetes-cluster.ts";
import { stagedCluster } from "./staged-cluster.ts";
import { type Stall, StallWatch } from "./stall-watch.ts";
import { SteadyOracle } from "./steady-oracle.ts";

const VIEWERS = 20;
const REMOTES = ["ttyhq-remote-0", "ttyhq-remote-1"];
/** Nobody can be so far behind that the server leaves output out. */
const STREAM_BYTES = 4_000_000;
/** Before the rollout begins. */
const BEGUN_BYTES = 100_000;
const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };

const stage = stagedCluster({ remotes: REMOTES.length });

/** One session, and who looks at it. */
type Show = {
  readonly oracle: SteadyOracle;
  readonly remoteId: string;
  readonly checkers: readonly OracleChecker[];
  readonly watches: readonly StallWatch[];
  readonly viewers: readonly TerminalClient[];
};

async function opened(remote: string, seed: number, stack: DisposableStack): Promise<Show> {
  const { client } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(remote);
  const oracle = new SteadyOracle({ bytes: STREAM_BYTES, seed });
  const { id } = await client.api.create({ command: [...oracle.command], remoteId });
  const checkers = Array.from({ length: VIEWERS / REMOTES.length }, () => new OracleChecker({ seed }));
  const watches = checkers.map((checker) => new StallWatch(checker));
  const attaching = watches.map((checker) => client.attach(id, { checker, hasScreen: false, keptBytes: 0 }));
  const viewers = (await Promise.all(attaching)).map((viewer) => stack.use(viewer));
  return { oracle, remoteId, checkers, watches, viewers };
}

/** Replaces the HQ's pod. Resolves with when that was asked for and when the next one was ready, of performance.now(). */
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

function worstOf(shows: readonly Show[]): Stall {
  const stalls = shows.flatMap(({ watches }) => watches.map(({ worst }) => worst));
  return stalls.reduce((worst, stall) => (stall.ms > worst.ms ? stall : worst));
}

test("a rolling update of the HQ under 20 viewers: each goes on by itself at its byte, and has every byte once", async () => {
  const { cluster } = stage;
  using stack = new DisposableStack();
  const shows = await Promise.all(REMOTES.map((remote, index) => opened(remote, index + 1, stack)));
  const viewers = shows.flatMap((show) => show.viewers);
  await Promise.all(viewers.map((viewer) => viewer.reaches(BEGUN_BYTES, LIMITS)));

  const { askedMs, readyMs } = await updated();
  await Promise.all(
    viewers.map(async (viewer) => {
      await viewer.until(() => viewer.reconnects > 0 || undefined, "the reconnect", LIMITS);
      await viewer.reaches((viewer.offset ?? 0) + BEGUN_BYTES, LIMITS);
    }),
  );
  const { beganMs, ms } = worstOf(shows);
  const since = (atMs: number): number => Math.round(atMs - askedMs);
  // What lies before the pod was ready is Kubernetes' part of the stall, and the HQ's shutdown and start; the rest is ours.
  console.log(
    `rolling update of the HQ: the next pod was ready after ${since(readyMs)} ms; the worst stall of ${viewers.length} ` +
      `viewers was ${Math.round(ms)} ms, from ${since(beganMs)} to ${since(beganMs + ms)} ms`,
  );

  await Promise.all(shows.map(({ oracle, remoteId }) => oracle.finish(cluster.client, remoteId)));
  const ends = await Promise.all(viewers.map((viewer) => viewer.ended(LIMITS)));
  expect(new Set(ends.map(({ exitCode }) => exitCode))).toEqual(new Set([0]));
  for (const checker of shows.flatMap((show) => show.checkers)) {
    expect(checker.verify()).toMatchObject({ isComplete: true, lost: 0, doubled: 0, skipped: 0 });
  }
  expect(viewers.map(({ resyncs }) => resyncs)).toEqual(viewers.map(() => 0));
});
