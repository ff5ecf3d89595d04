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
const CUTS_OF_A_KIND = 10;
/** Printed for each cut, in steps that take a second or more, so that the cut is in the middle of it. */
const STEPS = 40;
const STEP_BYTES = 100_000;
const BYTES = 5 * CUTS_OF_A_KIND * STEPS * STEP_BYTES;
/** At least so much, and up to that, between two cuts. */
const [LEAST_BYTES, MOST_BYTES] = [300_000, 2_000_000];
const RECOVERY_TIMEOUT_MS = 45_000;
const TEST_TIMEOUT_MS = 240_000;

/** The oracle's output goes on for so much with each key, and to its end after the last one. */
const GATE = `stty raw -echo; "$@" </dev/null | {
  for cut in $(seq ${5 * CUTS_OF_A_KIND}); do
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
  "the HQ is paused": async ({ cluster: { hq } }) => {
    await hq.pause();
    await hq.unpause();
  },
  "the remote is paused": async ({ box }) => {
    await box.pause();
    await box.unpause();
  },
  "the remote is cut off": async ({ box }) => {
    await box.disconnect();
    await box.reconnect();
  },
  "the HQ's server is killed": async ({ cluster: { hq }, viewers }) => {
    const back = viewers.map((viewer) => reconnected(viewer, viewer.reconnects + 1));
    await Promise.all([hq.killServer(), ...back]);
  },
  "the remote's server is killed": async ({ box }) => {
    await box.killServer();
    await box.ready();
  },
};

async function reconnected(viewer: TerminalClient, count: number): Promise<void> {
  const look = (): true | undefined => viewer.reconnects >= count || undefined;
  await viewer.until(look, `reconnect ${count}`, { timeoutMs: RECOVERY_TIMEOUT_MS });
}

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
