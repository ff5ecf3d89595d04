// A drained node, and one that dies: that of a remote, and that of one of two HQs. Skipped without a program that adds
// a spare node. In one file, because there is only one such node.
import { describe, expect, test } from "vitest";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { answers } from "../cluster/shell.ts";
import { bestTime } from "../harness/best-time.ts";
import { CHANGE_TIMEOUT_MS, isReady, Kubectl, type Pod } from "./kubectl.ts";
import { HQ, HQ_DEPLOYMENT, REMOTES } from "./kubernetes-cluster.ts";
import { PodNetwork } from "./pod-network.ts";
import { Show } from "./show.ts";
import { NODE_PROGRAM, stagedSpareNode } from "./spare-node.ts";
import { stagedCluster } from "./staged-cluster.ts";

const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };
const STAYS = "ttyhq-remote-0";
const MOVES = "ttyhq-remote-1";
const API_PORT = 443;
const VIEWERS = 200;
const WORST_STALL_OF_DRAIN_MS = 3_000;
const WORST_STALL_OF_LOSS_MS = 30_000;

describe.skipIf(NODE_PROGRAM === undefined)("a node with one of two remotes", () => {
  const stage = stagedCluster({ remotes: 1, spareNodeUse: "all" });
  // Joined after the cluster started, so that its first pods are elsewhere.
  const spare = stagedSpareNode(() => stage.cluster.kubectl);

  /** A second remote, on the spare node, because pods spread. */
  async function secondRemote(): Promise<Pod> {
    const { cluster } = stage;
    await cluster.kubectl.does("scale", REMOTES, "--replicas=2");
    await cluster.rolledOut(REMOTES);
    await cluster.lists([STAYS, MOVES]);
    const pod = await cluster.remote(MOVES);
    expect(pod.spec.nodeName).toBe(spare.node.name);
    return pod;
  }

  async function shellOn(remote: string): Promise<TerminalClient> {
    const { cluster } = stage;
    const shell = await cluster.client.run({ remoteId: await cluster.remoteId(remote), command: ["sh"] });
    await answers(shell, 42);
    return shell;
  }

  /** The data about a session whose pod was replaced. */
  async function isOver(sessionId: string, seen: Uint8Array): Promise<void> {
    const { client } = stage.cluster;
    const check = async (): Promise<true | undefined> => {
      const { status, source } = await client.api.get(sessionId);
      return (status === "exited" && source === MOVES) || undefined;
    };
    await stage.cluster.eventually(check, "the end of the session");
    const stored = await client.api.bytes(endpoints.sessionOutput, { params: { id: sessionId } });
    expect(Buffer.compare(stored, seen)).toBe(0);
  }

  // Many clusters filter only forwarded packets, not those to an API server on the same node.
  test("is joined: its remote does not reach the API server, which other pods there do", async () => {
    const { cluster } = stage;
    const network = new PodNetwork(cluster);
    await secondRemote();
    await network.joins("bystander", spare.node.name);
    const api = await cluster.kubectl.does("exec", "bystander", "--", "printenv", "KUBERNETES_SERVICE_HOST");
    await network.becomes("connected", "bystander", "bystander", api, API_PORT);
    await network.becomes("silence", MOVES, "session-host", api, API_PORT);
    await network.becomes("silence", MOVES, "server", api, API_PORT);
    // A drain leaves no pod that would start it again.
    await cluster.kubectl.does("delete", "pod", "bystander", "--force", "--grace-period=0");
  });

  test("is cordoned and drained: who works elsewhere notices nothing, and its remote comes back on another one", async () => {
    const { cluster } = stage;
    const node = spare.node;
    const before = await secondRemote();
    const remoteId = await cluster.remoteId(MOVES);
    using stays = await shellOn(STAYS);
    using moves = await shellOn(MOVES);

    await cluster.kubectl.does("cordon", node.name);
    await answers(moves, 144);
    await cluster.kubectl.awaits("drain", node.name, "--ignore-daemonsets", "--delete-emptydir-data");
    await moves.ended(LIMITS);
    const after = await cluster.replaced(before);
    expect(after.spec.nodeName).not.toBe(node.name);
    await isOver(moves.sessionId, moves.bytes);
    expect(await cluster.remoteId(MOVES)).toBe(remoteId);
    using next = await shellOn(MOVES);
    await answers(next, 144);
    await answers(stays, 144);
    expect({ reconnects: stays.reconnects, resyncs: stays.resyncs }).toEqual({ reconnects: 0, resyncs: 0 });
    await cluster.kubectl.does("scale", REMOTES, "--replicas=1");
    await cluster.lists([STAYS]);
    await cluster.kubectl.does("uncordon", node.name);
  });

  test("is lost: the HQ leaves its remote out, others go on, and on another node it has its sessions' recordings", async () => {
    const { cluster } = stage;
    const node = spare.node;
    const before = await secondRemote();
    const remoteId = await cluster.remoteId(MOVES);
    using stays = await shellOn(STAYS);
    using moves = await shellOn(MOVES);
    const { sessionId } = moves;
    // Answered when everything so far is on the disk, which viewers do not wait for.
    const recording = { params: { id: sessionId }, query: { follow: "0" } } as const;
    await cluster.client.api.bytes(endpoints.sessionRecording, recording);
    const seen = moves.bytes;

    await node.fail();
    await cluster.lists([STAYS]);
    await answers(stays, 144);
    await cluster.kubectl.awaits("wait", `node/${node.name}`, "--for=condition=Ready=Unknown");
    // Only the operator knows that the machine is gone for good: Kubernetes waits for that information.
    await cluster.kubectl.does("cordon", node.name);
    await cluster.kubectl.does("delete", "pod", MOVES, "--force", "--grace-period=0");
    const after = await cluster.replaced(before);
    expect(after.spec.nodeName).not.toBe(node.name);
    expect(await cluster.remoteId(MOVES)).toBe(remoteId);
    await isOver(sessionId, seen);
    expect(await cluster.client.api.get(sessionId)).toMatchObject({ exitReason: "host_lost" });
    using next = await shellOn(MOVES);
    await answers(next, 144);
    expect({ reconnects: stays.reconnects, resyncs: stays.resyncs }).toEqual({ reconnects: 0, resyncs: 0 });
    await cluster.rolledOut(HQ_DEPLOYMENT);
  });
});

describe.skipIf(NODE_PROGRAM === undefined)("a node with one of two HQs", () => {
  // Joined before the cluster starts, so that its HQs spread.
  const spare = stagedSpareNode(() => new Kubectl("default"));
  const stage = stagedCluster({ remotes: 1, sharedRegistry: "redis", spareNodeUse: "hq" });

  /** Resolves when two HQs are ready, one of them on the spare node. */
  function spread(): Promise<Pod> {
    return stage.cluster.eventually(async () => {
      const pods = await stage.cluster.kubectl.allPods(HQ);
      if (pods.length !== 2 || !pods.every(isReady)) return undefined;
      return pods.find(({ spec }) => spec.nodeName === spare.node.name);
    }, "an HQ on each node");
  }

  /**
   * Resolves with the longest wait, in ms, of viewers that kept their links, or of a viewer beyond that, whichever is longer:
   * the busy machine makes everyone wait. The end does not count, because the rest arrives at once for all of them.
   */
  async function finish(show: Show, what: string): Promise<number> {
    const [{ ms }, staying] = [show.worst, show.worstOfStaying];
    console.log(
      `${what}: ${VIEWERS} viewers waited ${Math.round(ms)} ms at most and reconnected ${show.reconnects} times; ` +
        `those that kept their links waited ${Math.round(staying.ms)} ms`,
    );
    await show.finish();
    expect(show.reconnects).toBeGreaterThan(0);
    return Math.max(staying.ms, ms - staying.ms);
  }

  async function stallOfDrain(): Promise<number> {
    const { cluster } = stage;
    const { name } = spare.node;
    const before = await spread();
    using show = await Show.open(cluster, STAYS, VIEWERS);

    await cluster.kubectl.awaits("drain", name, "--ignore-daemonsets", "--delete-emptydir-data");
    await show.goesOn();
    await cluster.kubectl.does("uncordon", name);
    const after = await spread();
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    await show.goesOn();
    return await finish(show, "a drain");
  }

  test("is drained and given back: viewers of both lose no byte, get none twice and wait less than 3 s longer than others", async () => {
    expect(await bestTime(WORST_STALL_OF_DRAIN_MS, stallOfDrain)).toBeLessThan(WORST_STALL_OF_DRAIN_MS);
  });

  test("is lost: viewers of both lose no byte, get none twice and wait less than 30 s longer than others", async () => {
    const { cluster } = stage;
    const { name } = spare.node;
    await spread();
    using show = await Show.open(cluster, STAYS, VIEWERS);

    await spare.node.fail();
    await cluster.kubectl.awaits("wait", `node/${name}`, "--for=condition=Ready=Unknown");
    await show.goesOn();
    expect(await finish(show, "a lost node")).toBeLessThan(WORST_STALL_OF_LOSS_MS);
  });
});
