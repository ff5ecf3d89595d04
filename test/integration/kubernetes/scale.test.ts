import { join } from "node:path";
import { expect, test } from "vitest";
import { answers } from "../cluster/shell.ts";
import { ROOT } from "../containers/built-image.ts";
import { type Ran, run } from "../containers/docker.ts";
import { CHANGE_TIMEOUT_MS, isReady, type Pod } from "./kubectl.ts";
import { REMOTES } from "./kubernetes-cluster.ts";
import { stagedCluster } from "./staged-cluster.ts";

/** From the moment when the number of pods is right. */
const LISTED_MS = 20_000;

const stage = stagedCluster({ remotes: 1 });

/** Resolves when that many remotes are listed, with the delay of the list after the pods. */
async function scaled(count: number): Promise<number> {
  const { cluster } = stage;
  await cluster.kubectl.does("scale", REMOTES, `--replicas=${count}`);
  await cluster.eventually(async () => {
    const pods = await cluster.kubectl.allPods("app.kubernetes.io/component=remote");
    const serves = (pod: Pod): boolean => isReady(pod) && pod.metadata.deletionTimestamp === undefined;
    return (pods.length === count && pods.every(serves)) || undefined;
  }, `${count} pods`);
  const since = performance.now();
  await cluster.lists(Array.from({ length: count }, (_, index) => `ttyhq-remote-${index}`));
  return performance.now() - since;
}

test("remotes are scaled from 1 to 5 to 2, the list follows within 20 s, and those that stay keep their sessions", async () => {
  const { cluster } = stage;
  const remoteId = await cluster.remoteId("ttyhq-remote-0");
  using shell = await cluster.client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);

  const grownMs = await scaled(5);
  const ids = await Promise.all([1, 2, 3, 4].map((index) => cluster.remoteId(`ttyhq-remote-${index}`)));
  expect(new Set([remoteId, ...ids]).size).toBe(5);
  using last = await cluster.client.run({ remoteId: ids[1], command: ["sh"] });
  await answers(last, 144);

  const shrunkMs = await scaled(2);
  console.log(
    `the list followed the pods within ${Math.round(grownMs)} ms to 5 and ${Math.round(shrunkMs)} ms to 2`,
  );
  expect(Math.max(grownMs, shrunkMs)).toBeLessThan(LISTED_MS);
  await last.ended();
  await answers(shell, 1764);
  expect({ reconnects: shell.reconnects, resyncs: shell.resyncs }).toEqual({ reconnects: 0, resyncs: 0 });

  // Their volumes and identities are kept.
  await scaled(3);
  expect(await cluster.remoteId("ttyhq-remote-2")).toBe(ids[1]);
  expect(await cluster.client.api.get(last.sessionId)).toMatchObject({
    status: "exited",
    source: "ttyhq-remote-2",
  });
});

test("scale-down takes a remote away when it runs no session, not before, and more replicas bring it back", async () => {
  const { cluster } = stage;
  const scaleDown = (): Promise<Ran> =>
    run(join(ROOT, "k8s/scale-down"), ["1", cluster.kubectl.namespace], { timeoutMs: CHANGE_TIMEOUT_MS });
  const names = async (): Promise<readonly string[]> =>
    (await cluster.remotes()).map(({ metadata }) => metadata.name);
  await scaled(3);
  const remoteId = await cluster.remoteId("ttyhq-remote-1");
  using shell = await cluster.client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);

  const refused = await scaleDown();
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("ttyhq-remote-1 is not taken") });
  await cluster.lists(["ttyhq-remote-0", "ttyhq-remote-1"]);
  await answers(shell, 144);
  const create = cluster.client.api.create({ remoteId, command: ["true"] });
  await expect(create).rejects.toMatchObject({ code: "cordoned" });
  const others = await cluster.client.api.create({ labels: {}, command: ["true"] });
  expect(others).toMatchObject({ source: "ttyhq-remote-0" });

  await shell.type("exit 7\r");
  expect(await shell.ended()).toMatchObject({ exitCode: 7 });
  expect(await scaleDown()).toMatchObject({ code: 0 });
  await cluster.lists(["ttyhq-remote-0"]);
  expect(await names()).toEqual(["ttyhq-remote-0"]);

  await scaled(2);
  using next = await cluster.client.run({ remoteId, command: ["sh"] });
  await answers(next, 1764);
});
