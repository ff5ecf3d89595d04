import { setTimeout as sleep } from "node:timers/promises";
import type { Peer } from "../lib/peer.ts";
import { ProcessGroup } from "../lib/process-group.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const SESSIONS = 30;
const VIEWERS_EACH = 2;
const OUTPUT_MIB = 1;
const MINUTE_MS = 60_000;
/** The programs end by themselves after 15 minutes. */
const SESSION_MS = 10 * MINUTE_MS;
const STAY_MS = { least: 5_000, most: 30_000 };
const SAMPLE_MS = 1_000;
const MINUTES = 120;
/** Memory varies with garbage collections, so means over this time are compared. */
const MEAN_MINUTES = 5;
const WARM_MINUTES = 30;

/** Whether memory grows while sessions and viewers come and go for two hours. */
export const soak: Scenario = {
  name: "soak",
  title: `${SESSIONS} sessions, replaced every ${SESSION_MS / MINUTE_MS} minutes, with ${SESSIONS * VIEWERS_EACH} viewers that come and go, for ${MINUTES} minutes`,
  isOptional: true,
  metrics: [
    { name: "resident at 30 minutes", unit: "MiB", digits: 0 },
    { name: "at the end", unit: "MiB", digits: 0 },
    { name: "change", unit: "%", digits: 1 },
    { name: "first process at 30 minutes", unit: "MiB", digits: 0 },
    { name: "first process at the end", unit: "MiB", digits: 0 },
    { name: "highest", unit: "MiB", digits: 0 },
    { name: "CPU", unit: "% of a core", digits: 1 },
    { name: "viewers", unit: "", digits: 0 },
  ],
  takes: (peer) => peer.kind === "server" && peer.keepsSessions,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") throw new Error(`${peer.name} keeps no sessions`);
  await using stage = await Stage.open(peer, workshop);
  const first = new ProcessGroup(stage.server.pids.slice(0, 1), workshop.program);
  const cpuBefore = stage.group.cpuSeconds();
  const end = performance.now() + MINUTES * MINUTE_MS;
  const failed = new AbortController();
  const counts = Array.from({ length: SESSIONS }, () => runSessions(stage, workshop, end));
  const over = Promise.all(counts).catch((error: unknown) => failed.abort(error));
  const samples: { readonly all: number; readonly first: number }[] = [];
  while (performance.now() < end) {
    failed.signal.throwIfAborted();
    samples.push({ all: stage.group.residentBytes() / MIB, first: first.residentBytes() / MIB });
    await sleep(SAMPLE_MS);
  }
  const viewers = await over;
  failed.signal.throwIfAborted();
  const cpuSeconds = stage.group.cpuSeconds() - cpuBefore;
  const perMinute = samples.length / MINUTES;
  const mean = (of: "all" | "first", minute: number): number => {
    const some = samples.slice((minute - MEAN_MINUTES) * perMinute, minute * perMinute);
    return some.reduce((sum, sample) => sum + sample[of], 0) / some.length;
  };
  const warm = mean("all", WARM_MINUTES);
  const last = mean("all", MINUTES);
  return {
    "resident at 30 minutes": warm,
    "at the end": last,
    change: (last / warm - 1) * 100,
    "first process at 30 minutes": mean("first", WARM_MINUTES),
    "first process at the end": mean("first", MINUTES),
    highest: Math.max(...samples.map(({ all }) => all)),
    CPU: (cpuSeconds / (MINUTES * 60)) * 100,
    viewers: viewers?.reduce((sum, count) => sum + count, 0) ?? 0,
  };
}

/** Runs one session after the other until `end`. Returns the number of viewers that received every byte. */
async function runSessions(stage: Stage, workshop: Workshop, end: number): Promise<number> {
  let viewers = 0;
  await sleep(Math.random() * STAY_MS.most);
  while (performance.now() < end) {
    const work = workshop.load("plain", OUTPUT_MIB);
    const session = stage.server.session(work.words);
    const plan = session.first();
    const maker = await stage.viewers.open(plan, work.expectation);
    await maker.wait("ready");
    await stage.viewers.press([maker]);
    await maker.wait("whole");
    await maker.close();
    const leave = Math.min(end, performance.now() + SESSION_MS);
    const seats = Array.from({ length: VIEWERS_EACH }, async () => {
      while (performance.now() < leave) {
        const viewer = await stage.viewers.open(session.next(), work.expectation);
        const { error } = await viewer.wait("whole");
        if (error !== undefined) throw new Error(error);
        viewers++;
        await sleep(STAY_MS.least + Math.random() * (STAY_MS.most - STAY_MS.least));
        await viewer.close();
      }
    });
    await Promise.all(seats);
    await remove(plan);
  }
  return viewers;
}

async function remove({ port, speech }: { readonly port: number; readonly speech: object }): Promise<void> {
  if (!("sessionId" in speech)) return;
  const url = `http://127.0.0.1:${port}/api/sessions/${speech.sessionId}`;
  const answer = await fetch(url, { method: "DELETE" });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`the session was not removed: ${answer.status}`);
}
