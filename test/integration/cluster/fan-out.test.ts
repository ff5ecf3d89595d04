// A hundred viewers of one remote's session, some of them too slow.
import { beforeAll, expect, test } from "vitest";
import { targetOf } from "../../../packages/testing/src/access.ts";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import type { StartedService } from "../../../packages/testing/src/started.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { ask } from "../harness/http.ts";
import { expectedOutput, OutputComparison } from "./expected-output.ts";
import { END_KEY, gatedOracle, gateKey, READY_BYTES } from "./gated-oracle.ts";
import { IdleViewer } from "./idle-viewer.ts";

const STEADY = 89;
const SLOW = 10;
const MIB = 1024 * 1024;
/** Per gate, the slow viewers read half and the stalled one nothing. */
const STEP_BYTES = MIB;
/** Once the steady viewers are connected. */
const LATER_STEPS = 12;
/**
 * Room for what the network holds: 4 MiB to send, and 6 to 32 MiB received, by the kernel's version. Whenever the
 * kernel makes room for more meanwhile, the stalled viewer gets the screen, and its lag begins at 0.
 */
const MAX_STEPS = 100;
/** The lag of the stalled viewer when the steady ones connect, without what the network holds. */
const MIN_LAG_BYTES = 8 * MIB;
const MAX_GROWTH_BYTES = 32 * MIB;
const MAX_WAKING_MS = 300;
const MAX_PERFORMANCES = 5;
const STEP_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 400_000;

type Stage = { readonly hq: StartedService; readonly box: StartedService; readonly client: ServerClient };
type Measured = { readonly growth: number; readonly wakingMs: number };

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

type Audience = {
  /** Printed before all viewers were connected. */
  readonly earlySteps: number;
  readonly steady: readonly TerminalClient[];
  /** The steady viewers. */
  readonly outputs: readonly OutputComparison[];
  readonly slow: readonly IdleViewer[];
  readonly stalled: IdleViewer;
};

test("100 viewers, 10 of them slow and 1 stalled, are one upstream socket and little memory, and each is exact", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  await using cluster = await Cluster.start({ remotes: ["box"] });
  using client = await cluster.client();
  const stage = { hq: cluster.hq, box: cluster.remote("box"), client };
  // Memory that a server keeps from its first use on is no cost of viewers; load adds to times and to heaps.
  const { wakingMs: firstMs } = await perform(stage, 1);
  let [growth, wakingMs] = [Number.POSITIVE_INFINITY, firstMs];
  for (
    let seed = 2;
    seed <= MAX_PERFORMANCES && !(growth < MAX_GROWTH_BYTES && wakingMs < MAX_WAKING_MS);
    seed++
  ) {
    const measured = await perform(stage, seed);
    [growth, wakingMs] = [Math.min(growth, measured.growth), Math.min(wakingMs, measured.wakingMs)];
  }
  console.log(
    `the HQ grew by ${(growth / MIB).toFixed(1)} MiB; the stalled viewer was right in ${wakingMs.toFixed(0)} ms`,
  );
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  expect(wakingMs).toBeLessThan(MAX_WAKING_MS);
});

async function perform(stage: Stage, seed: number): Promise<Measured> {
  const { hq, box, client } = stage;
  const before = await memoryOf(hq);
  const due = expectedOutput({ bytes: printedAfter(MAX_STEPS), seed });
  const gate = { keys: MAX_STEPS, pieces: 1, pieceBytes: STEP_BYTES, pauseS: 0 };
  const { remoteId } = await box.health();
  const { id } = await client.api.create({ command: gatedOracle(gate, { seed }), remoteId });
  await using stack = new AsyncDisposableStack();
  const idle = { sessionId: id, due };
  const audience = await assemble(stage, idle, stack);
  const bytes = printedAfter(audience.earlySteps + LATER_STEPS);

  const most = await play(audience, hq);
  expect(await metric(hq, "ttyhq_uplinks")).toBe(1);
  expect(await metric(box, "ttyhq_clients")).toBe(1);
  expect(await metric(hq, "ttyhq_clients")).toBe(STEADY + SLOW + 1);

  const { stalled } = audience;
  const started = performance.now();
  await stalled.reach(bytes);
  const wakingMs = performance.now() - started;
  // More than once if the network absorbed more in between, as on a busy machine.
  expect(stalled.output.skips).toBeGreaterThan(0);
  await using fresh = await IdleViewer.open(client.access, { ...idle, hasScreen: true });
  await fresh.reach(bytes);
  expect(await stalled.screen()).toEqual(await fresh.screen());

  await end(audience, bytes);
  return { growth: Math.max(most, await memoryOf(hq)) - before, wakingMs };
}

function printedAfter(step: number): number {
  return READY_BYTES + step * STEP_BYTES;
}

/** Slow viewers and the stalled one are far behind when the steady ones connect. */
async function assemble(
  { client, hq }: Stage,
  idle: { readonly sessionId: string; readonly due: Buffer },
  stack: AsyncDisposableStack,
): Promise<Audience> {
  const stalled = stack.use(await IdleViewer.open(client.access, { ...idle, hasScreen: true }));
  const opening = Array.from({ length: SLOW }, () => IdleViewer.open(client.access, idle));
  const slow = (await Promise.all(opening)).map((viewer) => stack.use(viewer));
  const attach = async (checker: OutputComparison): Promise<TerminalClient> => {
    const options = { checker, from: checker.next, hasScreen: false, keptBytes: 0 };
    return stack.use(await client.attach(idle.sessionId, options));
  };
  const leading = new OutputComparison(idle.due, 0);
  const lead = await attach(leading);
  await lead.reaches(READY_BYTES);
  let earlySteps = 0;
  while ((await metric(hq, "ttyhq_viewer_lag_max_bytes")) < MIN_LAG_BYTES) {
    earlySteps += 1;
    expect(earlySteps, "steps until the network was full").toBeLessThanOrEqual(MAX_STEPS - LATER_STEPS);
    await advance([lead], slow, earlySteps);
  }
  const later = Array.from({ length: STEADY - 1 }, () => new OutputComparison(idle.due, leading.next));
  const others = await Promise.all(later.map(attach));
  return { earlySteps, steady: [lead, ...others], outputs: [leading, ...later], slow, stalled };
}

/** Resolves when the session has printed another piece and all reading viewers have it. */
async function advance(
  steady: readonly TerminalClient[],
  slow: readonly IdleViewer[],
  step: number,
): Promise<void> {
  await steady[0]?.type(gateKey(step));
  const limits = { timeoutMs: STEP_TIMEOUT_MS };
  await Promise.all(steady.map((viewer) => viewer.reaches(printedAfter(step), limits)));
  await Promise.all(slow.map((viewer) => viewer.read(STEP_BYTES / 2)));
}

/** Returns the HQ's peak memory. */
async function play({ earlySteps, steady, slow }: Audience, hq: StartedService): Promise<number> {
  let most = 0;
  for (let step = 1; step <= LATER_STEPS; step += 1) {
    await advance(steady, slow, earlySteps + step);
    most = Math.max(most, await memoryOf(hq));
  }
  return most;
}

async function end({ steady, outputs, slow, stalled }: Audience, bytes: number): Promise<void> {
  await Promise.all(slow.map((viewer) => viewer.reach(bytes)));
  await steady[0]?.type(END_KEY);
  const exits = await Promise.all(steady.map((viewer) => viewer.ended()));
  expect(exits.map(({ exitCode }) => exitCode)).toEqual(steady.map(() => 0));
  await Promise.all([...slow, stalled].map((viewer) => viewer.reach(bytes)));
  const seen = outputs.map(({ next, skips }) => ({ next, skips }));
  expect(seen).toEqual(outputs.map(() => ({ next: bytes, skips: 0 })));
  // On a busy machine, a viewer that is 4 MiB behind and reads nothing for half a second may get the screen.
  expect(slow.map(({ output }) => output.next)).toEqual(slow.map(() => bytes));
}

/** VmRSS of the server, in bytes. */
async function memoryOf(service: StartedService): Promise<number> {
  const { pid } = await service.health();
  const { stdout } = await service.exec(["cat", `/proc/${pid}/status`]);
  return Number(/VmRSS:\s+(\d+) kB/.exec(stdout)?.[1]) * 1024;
}

/** The value of a metric without labels. */
async function metric(service: StartedService, name: string): Promise<number> {
  const target = targetOf(await service.access());
  if (!("url" in target)) throw new Error("a server at a socket of this machine");
  const { text } = await ask(target.url, "/metrics", { headers: target.headers });
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}
