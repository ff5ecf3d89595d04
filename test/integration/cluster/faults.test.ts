// A stream through the HQ that is cut again and again, in every way that machines and networks have.
import { createHash } from "node:crypto";
import { env } from "node:process";
import { beforeAll, expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints.ts";
import { Cluster } from "../../../src/testing/cluster.ts";
import { OracleChecker } from "../../../src/testing/oracle-checker.ts";
import { oracleProgram } from "../../../src/testing/oracle-program.ts";
import { type Draw, drawer } from "../../../src/testing/oracle-source.ts";
import type { ServerClient } from "../../../src/testing/server-client.ts";
import type { StartedService } from "../../../src/testing/started.ts";
import type { TerminalClient } from "../../../src/testing/terminal-client.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";

/** The order of the cuts and their places in the stream. */
const SEED = Number(env.TTYHQ_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
const VIEWERS = 3;
const CUTS_OF_A_KIND = 5;
const CUTS = 50;
/** Printed for each cut, in steps that take a second or more, so that the cut is in the middle of it. */
const STEPS = 40;
const STEP_BYTES = 100_000;
const BYTES = CUTS * STEPS * STEP_BYTES;
/** At least so much, and up to that, between two cuts. */
const [LEAST_BYTES, MOST_BYTES] = [300_000, 2_000_000];
const RECOVERY_TIMEOUT_MS = 45_000;
const TEST_TIMEOUT_MS = 240_000;

/** The oracle's output goes on for so much with each key, and to its end after the last one. */
const GATE = `stty raw -echo; "$@" </dev/null | {
  for cut in $(seq ${CUTS}); do
    head -c 1 </dev/tty >/dev/null
    for step in $(seq ${STEPS}); do head -c ${STEP_BYTES}; sleep 0.02; done
  done
  cat
}`;

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

/** One who checks every byte and keeps a hash of them all. */
class Witness {
  readonly checker = new OracleChecker({ seed: SEED });
  readonly hash = createHash("sha256");

  take(bytes: Uint8Array, offset: number): void {
    this.checker.take(bytes, offset);
    this.hash.update(bytes);
  }

  skip(offset: number): void {
    this.checker.skip(offset);
  }
}

type Stage = {
  readonly cluster: Cluster;
  readonly box: StartedService;
  readonly viewers: readonly TerminalClient[];
};

/** Each resolves when it is over for the machine or network that it befell. */
const CUTS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "the HQ is paused": ({ hq }) => paused(hq),
  "the remote is paused": ({ box }) => paused(box),
  "the remote is cut off": ({ box }) => cutOff(box),
  "the HQ's server is killed": killHq,
  "the remote's server is killed": ({ box }) => killRemote(box),
  "the HQ is paused while the remote's server is killed": ({ hq, box }) => paused(hq, () => killRemote(box)),
  "the remote is paused while the HQ's server is killed": (stage) => paused(stage.box, () => killHq(stage)),
  "the remote is cut off while its server is killed": ({ box }) => cutOff(box, () => killRemote(box)),
  "the remote is cut off while the HQ's server is killed": (stage) => cutOff(stage.box, () => killHq(stage)),
  "both servers are killed": async (stage) => {
    await Promise.all([killHq(stage), killRemote(stage.box)]);
  },
};

async function paused(service: StartedService, meanwhile: () => Promise<void> = nothing): Promise<void> {
  await service.pause();
  await meanwhile();
  await service.unpause();
}

async function cutOff(service: StartedService, meanwhile: () => Promise<void> = nothing): Promise<void> {
  await service.disconnect();
  await meanwhile();
  await service.reconnect();
}

/** Until every viewer is connected to the new server. */
async function killHq({ hq, viewers }: Stage): Promise<void> {
  const back = viewers.map((viewer) => connectedAgain(viewer));
  await Promise.all([hq.killServer(), ...back]);
}

async function killRemote(box: StartedService): Promise<void> {
  await box.killServer();
  await box.ready();
}

async function nothing(): Promise<void> {}

/** All kinds equally often, in any order. */
function shuffled(draw: Draw): readonly string[] {
  const kinds = Array.from({ length: CUTS_OF_A_KIND }, () => Object.keys(CUTS)).flat();
  return kinds
    .map((kind) => ({ kind, place: draw(2 ** 32) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ kind }) => kind);
}

/** Resolves when every viewer has so many bytes more. */
async function streamed(viewers: readonly TerminalClient[], bytes: number): Promise<void> {
  const marks = viewers.map((viewer) => (viewer.offset ?? 0) + bytes);
  const limits = { timeoutMs: RECOVERY_TIMEOUT_MS };
  await Promise.all(viewers.map((viewer, index) => viewer.reaches(marks[index] ?? 0, limits)));
}

async function storedHash(client: ServerClient, id: string): Promise<string> {
  const hash = createHash("sha256");
  const signal = AbortSignal.timeout(RECOVERY_TIMEOUT_MS);
  const { body } = await client.api.stream(endpoints.sessionOutput, { params: { id } }, signal);
  for await (const piece of body) hash.update(piece);
  return hash.digest("hex");
}

test("50 cuts of every kind during 200 MB: no byte is lost or comes twice, and the program knows of nothing", {
  timeout: TEST_TIMEOUT_MS,
}, async ({ onTestFailed }) => {
  onTestFailed(() => console.error(`run it again with TTYHQ_TEST_SEED=${SEED}`));
  await using cluster = await Cluster.start({ remotes: ["box"] });
  const box = cluster.remote("box");
  const { remoteId } = await box.health();
  using client = await cluster.client();
  const command = ["sh", "-c", GATE, "gate", ...oracleProgram({ bytes: BYTES, seed: SEED, isWild: true })];
  const { id, pid } = await client.api.create({ command, remoteId });
  const witnesses = Array.from({ length: VIEWERS }, () => new Witness());
  const options = { hasScreen: false, keptBytes: 0 };
  const attaching = witnesses.map((checker) => client.attach(id, { ...options, checker }));
  using stack = new DisposableStack();
  const viewers = (await Promise.all(attaching)).map((viewer) => stack.use(viewer));

  const draw = drawer(SEED);
  const started = performance.now();
  for (const kind of shuffled(draw)) {
    await viewers[0]?.type("x");
    const bytes = LEAST_BYTES + draw(MOST_BYTES - LEAST_BYTES);
    await streamed(viewers, bytes);
    const t = performance.now();
    await CUTS[kind]?.({ cluster, box, viewers });
    const t2 = performance.now();
    await streamed(viewers, 1);
    console.log(kind, (t2 - t).toFixed(0), (performance.now() - t2).toFixed(0), viewers[0]?.offset);
  }
  const cutMs = performance.now() - started;
  expect(await client.api.get(id)).toMatchObject({ status: "running", pid });
  const exits = await Promise.all(viewers.map((viewer) => viewer.ended({ timeoutMs: RECOVERY_TIMEOUT_MS })));
  console.log(
    `50 cuts in ${(cutMs / 1000).toFixed(1)} s, all over after ${((performance.now() - started) / 1000).toFixed(1)} s`,
  );
  expect(exits.map(({ exitCode }) => exitCode)).toEqual(viewers.map(() => 0));
  for (const { checker } of witnesses) expect(checker.verify()).toMatchObject({ skipped: 0 });
  const stored = await storedHash(client, id);
  expect(witnesses.map(({ hash }) => hash.digest("hex"))).toEqual(viewers.map(() => stored));
});
