// Each probe of the kubelet, while its target is unhealthy.
import { expect, test } from "vitest";
import { containerOf, isReady, type Pod } from "./kubectl.ts";
import { HQ_DEPLOYMENT, REMOTES } from "./kubernetes-cluster.ts";
import { stagedCluster } from "./staged-cluster.ts";

/** The requests stay unchanged; intervals and thresholds are adapted for a test. */
const READINESS = { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 2 };
const LIVENESS = { periodSeconds: 1, timeoutSeconds: 4, failureThreshold: 3 };
const STARTUP = { periodSeconds: 1, timeoutSeconds: 15, failureThreshold: 60 };
/** For stopped processes, which cannot handle a termination. */
const GRACE = { terminationGracePeriodSeconds: 5 };
const REMOTE = "ttyhq-remote-0";

function quick(kind: string, name: string, containers: readonly string[]): object {
  const probes = { startupProbe: STARTUP, livenessProbe: LIVENESS, readinessProbe: READINESS };
  const spec = { ...GRACE, containers: containers.map((each) => ({ name: each, ...probes })) };
  const patch = { apiVersion: "apps/v1", kind, metadata: { name }, spec: { template: { spec } } };
  return { patch: JSON.stringify(patch) };
}

const stage = stagedCluster({
  remotes: 1,
  // Long enough to observe.
  settings: ["TTYHQ_GRACE=40s", "TTYHQ_DRAIN_DELAY=20s"],
  patches: [
    quick("Deployment", "ttyhq-hq", ["hq"]),
    quick("StatefulSet", "ttyhq-remote", ["session-host", "server"]),
  ],
});

/** Resolves with the pod when it matches. */
function becomes(what: string, read: () => Promise<Pod>, fits: (pod: Pod) => boolean): Promise<Pod> {
  const check = async (): Promise<Pod | undefined> => {
    const pod = await read();
    return fits(pod) ? pod : undefined;
  };
  return stage.cluster.eventually(check, what);
}

/** It runs, and must receive no requests. */
function isUnready(pod: Pod, container: string): boolean {
  const { ready, state } = containerOf(pod, container);
  return !ready && state.running !== undefined;
}

function restartsOf(pod: Pod, container: string): number {
  return containerOf(pod, container).restartCount;
}

const remote = (): Promise<Pod> => stage.cluster.remote(REMOTE);
const hq = (): Promise<Pod> => stage.cluster.hq();

/** A ready pod whose container was restarted since then. */
function anew(read: () => Promise<Pod>, container: string, before: Pod): Promise<Pod> {
  const count = restartsOf(before, container);
  return becomes(`another start of ${container}`, read, (pod) => {
    return restartsOf(pod, container) > count && isReady(pod);
  });
}

test("a server that does not answer is not ready, and is again when it does; if it stays so it is started anew", async () => {
  const { kubectl } = stage.cluster;
  const before = await becomes("the remote", remote, isReady);
  await kubectl.signal(REMOTE, "server", "STOP");
  await becomes("a pod that is not ready", remote, (pod) => isUnready(pod, "server"));
  await kubectl.signal(REMOTE, "server", "CONT");
  await becomes("a pod that is ready again", remote, isReady);

  await kubectl.signal(REMOTE, "server", "STOP");
  const after = await anew(remote, "server", before);
  expect(restartsOf(after, "session-host")).toBe(restartsOf(before, "session-host"));
});

test("without a session host the server is not ready, and is not started anew for it", async () => {
  const { kubectl } = stage.cluster;
  const before = await becomes("the remote", remote, isReady);
  // It restarts at once. The second time the kubelet waits for 10 s.
  await stage.cluster.eventually(async () => {
    await kubectl.signal(REMOTE, "session-host", "KILL").catch(() => undefined);
    return isUnready(await remote(), "server") || undefined;
  }, "a server that is not ready");
  const after = await anew(remote, "session-host", before);
  expect(restartsOf(after, "server")).toBe(restartsOf(before, "server"));
});

test("a session host that does not answer is started anew, and the server is not", async () => {
  const before = await becomes("the remote", remote, isReady);
  await stage.cluster.kubectl.signal(REMOTE, "session-host", "STOP");
  const after = await anew(remote, "session-host", before);
  expect(restartsOf(after, "server")).toBe(restartsOf(before, "server"));
});

test("an HQ that is shutting down is not ready while it goes on", async () => {
  const before = await becomes("the HQ", hq, isReady);
  await stage.cluster.kubectl.signal(before.metadata.name, "hq", "TERM");
  const draining = await becomes("an HQ that is not ready", hq, (pod) => isUnready(pod, "hq"));
  expect(restartsOf(draining, "hq")).toBe(restartsOf(before, "hq"));
  await anew(hq, "hq", before);
});

test("an HQ that does not answer is not ready, and is started anew", async () => {
  const before = await becomes("the HQ", hq, isReady);
  await stage.cluster.kubectl.signal(before.metadata.name, "hq", "STOP");
  await becomes("an HQ that is not ready", hq, (pod) => isUnready(pod, "hq"));
  await anew(hq, "hq", before);
});

test("a container that does not start up is restarted, and never becomes ready", async () => {
  const { kubectl } = stage.cluster;
  const startupProbe = { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 4 };
  const put = async (what: string, containers: readonly object[]): Promise<void> => {
    await kubectl.does(
      "patch",
      what,
      `--patch=${JSON.stringify({ spec: { template: { spec: { containers } } } })}`,
    );
  };
  const [oldRemote, oldHq] = [await remote(), await hq()];
  await put(REMOTES, [
    { name: "session-host", command: ["sleep", "infinity"], args: [], startupProbe },
    { name: "server", startupProbe },
  ]);
  // Unreachable for the kubelet.
  await put(HQ_DEPLOYMENT, [{ name: "hq", env: [{ name: "TTYHQ_BIND", value: "127.0.0.1" }], startupProbe }]);
  // Nothing else ends them.
  await Promise.all([
    endsAgainAndAgain(remote, oldRemote, ["session-host", "server"]),
    endsAgainAndAgain(hq, oldHq, ["hq"]),
  ]);
});

/** Resolves when these containers of the replacing pod have been restarted without ever being ready. */
async function endsAgainAndAgain(
  read: () => Promise<Pod>,
  old: Pod,
  names: readonly string[],
): Promise<void> {
  const check = async (): Promise<Pod | undefined> => {
    const found = await read();
    const isNew = found.metadata.uid !== old.metadata.uid;
    if (isNew && names.every((name) => restartsOf(found, name) > 0)) return found;
    if (isNew) await annotate(found);
    return undefined;
  };
  const pod = await stage.cluster.eventually(check, `other starts of ${names}`);
  expect(names.map((name) => containerOf(pod, name).ready)).toEqual(names.map(() => false));
}

/** The kubelet acts on a failed startup probe when the pod changes, or at its next resync up to a minute later. */
async function annotate({ metadata }: Pod): Promise<void> {
  await stage.cluster.kubectl.run([
    "annotate",
    "pod",
    metadata.name,
    "--overwrite",
    `checked-at=${Date.now()}`,
  ]);
}
