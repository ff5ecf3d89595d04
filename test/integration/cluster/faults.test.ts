// A stream through the HQ that is cut repeatedly, by all kinds of faults of machines and networks.
import { createHash } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import { type Draw, drawer } from "../../../packages/testing/src/oracle/source.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import type { StartedService } from "../../../packages/testing/src/started.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { SEED, scaled } from "../harness/scale.ts";
import { gatedOracle, gateKey, READY_BYTES } from "./gated-oracle.ts";

const VIEWERS = 3;
const CUTS_OF_A_KIND = scaled(5);
const KINDS_OF_CUTS = 10;
const CUTS = CUTS_OF_A_KIND * KINDS_OF_CUTS;
/** Four megabytes for each cut, in at least half a second, so that the stream continues meanwhile. */
const GATE = { keys: CUTS, pieces: 40, pieceBytes: 100_000, pauseS: 0.01 };
/** The minimum and maximum of a gate's bytes that arrived before the cut. */
const [LEAST_BYTES, MOST_BYTES] = [500_000, 3_500_000];
const RECOVERY_TIMEOUT_MS = 45_000;
const TEST_TIMEOUT_MS = 400_000;

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

/** A viewer that checks every byte and hashes them all. */
class ByteChecker {
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
  readonly hq: StartedService;
  readonly box: StartedService;
  readonly viewers: readonly TerminalClient[];
};

/** Each resolves when the fault of the machine or network is over. */
const WAYS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
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

/** Waits until every viewer is connected to the new server. */
async function killHq({ hq, viewers }: Stage): Promise<void> {
  const limits = { timeoutMs: RECOVERY_TIMEOUT_MS };
  const back = viewers.map((viewer) => {
    const before = viewer.reconnects;
    return viewer.until(() => viewer.reconnects > before || undefined, "the reconnect", limits);
  });
  await Promise.all([hq.killServer(), ...back]);
}

async function killRemote(box: StartedService): Promise<void> {
  await box.killServer();
  await box.ready();
}

async function nothing(): Promise<void> {}

/** All kinds equally often, in random order. */
function shuffled(draw: Draw): readonly string[] {
  const kinds = Array.from({ length: CUTS_OF_A_KIND }, () => Object.keys(WAYS)).flat();
  return kinds
    .map((kind) => ({ kind, place: draw(2 ** 32) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ kind }) => kind);
}

/**
 * Resolves when every viewer has that many bytes after a gate, counted from the gate's start: many of them may have
 * arrived before the key was acknowledged.
 */
async function streamed(viewers: readonly TerminalClient[], gate: number, bytes: number): Promise<void> {
  const mark = READY_BYTES + (gate - 1) * GATE.pieces * GATE.pieceBytes + bytes;
  const limits = { timeoutMs: RECOVERY_TIMEOUT_MS };
  await Promise.all(viewers.map((viewer) => viewer.reaches(mark, limits)));
}

/** Like a person: repeats the key until it is accepted. */
async function typed(viewers: readonly TerminalClient[], key: string): Promise<void> {
  const type = async (): Promise<true> => {
    await viewers[0]?.type(key);
    return true;
  };
  await eventually(type, "the acceptance of a key", { timeoutMs: RECOVERY_TIMEOUT_MS });
}

async function storedHash(client: ServerClient, id: string): Promise<string> {
  const hash = createHash("sha256");
  const signal = AbortSignal.timeout(RECOVERY_TIMEOUT_MS);
  const { body } = await client.api.stream(endpoints.sessionOutput, { params: { id } }, signal);
  for await (const piece of body) hash.update(piece);
  return hash.digest("hex");
}

test("cuts of every kind during a flood: no byte is lost or comes twice, and the program knows of nothing", {
  timeout: TEST_TIMEOUT_MS,
}, async ({ onTestFailed }) => {
  onTestFailed(() => console.error(`run it again with TTYHQ_TEST_SEED=${SEED}`));
  await using cluster = await Cluster.start({ remotes: ["box"] });
  const box = cluster.remote("box");
  const { remoteId } = await box.health();
  using client = await cluster.client();
  const command = gatedOracle(GATE, { seed: SEED, isWild: true });
  const { id, pid } = await client.api.create({ command, remoteId });
  const checkers = Array.from({ length: VIEWERS }, () => new ByteChecker());
  const options = { hasScreen: false, keptBytes: 0 };
  const attaching = checkers.map((checker) => client.attach(id, { ...options, checker }));
  using stack = new DisposableStack();
  const viewers = (await Promise.all(attaching)).map((viewer) => stack.use(viewer));

  await Promise.all(viewers.map((viewer) => viewer.reaches(READY_BYTES)));
  const draw = drawer(SEED);
  const started = performance.now();
  for (const [index, way] of shuffled(draw).entries()) {
    const gate = index + 1;
    await typed(viewers, gateKey(gate));
    await streamed(viewers, gate, LEAST_BYTES + draw(MOST_BYTES - LEAST_BYTES));
    await WAYS[way]?.({ hq: cluster.hq, box, viewers });
  }
  await typed(viewers, gateKey(CUTS + 1));
  const cutMs = performance.now() - started;
  const exits = await Promise.all(viewers.map((viewer) => viewer.ended({ timeoutMs: RECOVERY_TIMEOUT_MS })));
  const allMs = performance.now() - started;
  console.log(
    `${CUTS} cuts in ${(cutMs / 1000).toFixed(1)} s, and the end after ${(allMs / 1000).toFixed(1)} s`,
  );
  expect(exits.map(({ exitCode }) => exitCode)).toEqual(viewers.map(() => 0));
  expect(await client.api.get(id)).toMatchObject({ status: "exited", exitCode: 0, pid });
  for (const { checker } of checkers) expect(checker.verify()).toMatchObject({ skipped: 0 });
  const stored = await storedHash(client, id);
  expect(checkers.map(({ hash }) => hash.digest("hex"))).toEqual(viewers.map(() => stored));
});
