import { join } from "node:path";
import { expect, test } from "vitest";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { expectedOutput } from "../cluster/expected-output.ts";
import { answers } from "../cluster/shell.ts";
import { IMAGE, ROOT } from "../containers/built-image.ts";
import { output } from "../containers/docker.ts";
import { CHANGE_TIMEOUT_MS, containerOf, type Pod } from "./kubectl.ts";
import { REMOTES } from "./kubernetes-cluster.ts";
import { Show } from "./show.ts";
import { stagedCluster } from "./staged-cluster.ts";
import { SteadyOracle } from "./steady-oracle.ts";

/** More than it prints before it ends. */
const STREAM = { bytes: 16_000_000, seed: 5 };
const BEGUN_BYTES = 100_000;
const VIEWERS = 10;
const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };

/** The same image under another name, so that Kubernetes restarts a container. */
const OTHER_NAME = `docker.io/library/${IMAGE}`;

const stage = stagedCluster({ remotes: 2, remoteSettings: ["DRAIN_SECONDS=1"] });

async function begun(remote: string): Promise<TerminalClient> {
  const oracle = new SteadyOracle(STREAM);
  const session = { command: [...oracle.command], remoteId: await stage.cluster.remoteId(remote) };
  const viewer = await stage.cluster.client.run(session, { hasScreen: false });
  await viewer.reaches(BEGUN_BYTES, LIMITS);
  return viewer;
}

test.skipIf(IMAGE.includes("/"))(
  "an update of the servers alone: no pod is replaced, sessions go on, and every viewer has each byte once",
  async () => {
    const { cluster } = stage;
    const before = await cluster.remotes();
    const names = before.map(({ metadata }) => metadata.name);
    using stack = new DisposableStack();
    const opening = names.map((name) => Show.open(cluster, name, VIEWERS / names.length));
    const shows = (await Promise.all(opening)).map((show) => stack.use(show));

    const update = join(ROOT, "k8s/update-servers");
    await output(update, [OTHER_NAME, cluster.kubectl.namespace], { timeoutMs: CHANGE_TIMEOUT_MS });
    await Promise.all(shows.map((show) => show.goesOn()));
    const after = await cluster.remotes();
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
    const starts = (pod: Pod, name: string): number => containerOf(pod, name).restartCount;
    expect(after.map((pod) => [starts(pod, "server"), starts(pod, "session-host")])).toEqual(
      before.map((pod) => [starts(pod, "server") + 1, starts(pod, "session-host")]),
    );
    const worst = Math.max(...shows.map(({ worst: { ms } }) => ms));
    console.log(`update of the servers: the worst stall of ${VIEWERS} viewers was ${Math.round(worst)} ms`);
    await Promise.all(shows.map((show) => show.finish()));
    // The old servers were cordoned until they stopped.
    for (const name of names) {
      using next = await cluster.client.run({ remoteId: await cluster.remoteId(name), command: ["sh"] });
      await answers(next, 42);
    }
  },
);

test("a rolling update of the remotes ends their sessions as exited, with all seen output in their recordings", async () => {
  const { cluster } = stage;
  const { api } = cluster.client;
  const before = await cluster.remotes();
  using stack = new DisposableStack();
  const viewers = await Promise.all(
    before.map(async ({ metadata }) => stack.use(await begun(metadata.name))),
  );
  const over = Promise.all(viewers.map((viewer) => viewer.ended(LIMITS)));

  await cluster.kubectl.does("rollout", "restart", REMOTES);
  const ends = await over;
  await cluster.rolledOut(REMOTES);
  const after = await cluster.remotes();
  expect(after.map(({ metadata }) => metadata.name)).toEqual(before.map(({ metadata }) => metadata.name));
  const kept = new Set(before.map(({ metadata }) => metadata.uid));
  expect(after.filter(({ metadata }) => kept.has(metadata.uid))).toEqual([]);

  const due = expectedOutput(STREAM);
  for (const [index, viewer] of viewers.entries()) {
    const source = before[index]?.metadata.name ?? "";
    const remoteId = await cluster.remoteId(source);
    const id = viewer.sessionId;
    const record = await cluster.eventually(() => api.get(id), `the record of the session of ${source}`);
    const { exitCode } = ends[index] ?? {};
    expect(record).toMatchObject({ status: "exited", source, exitCode, exitReason: "signal" });
    const stored = await api.bytes(endpoints.sessionOutput, { params: { id } });
    expect(Buffer.compare(stored, viewer.bytes)).toBe(0);
    expect(due.compare(stored, 0, stored.length, 0, stored.length)).toBe(0);
    using next = await cluster.client.run({ remoteId, command: ["sh"] });
    await answers(next, 42);
  }
});
