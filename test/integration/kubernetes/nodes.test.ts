// A node that is emptied, and one that dies. Where no program gives the cluster a spare one this is left out.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { answers } from "../cluster/shell.ts";
import { CHANGE_TIMEOUT_MS, type Pod } from "./kubectl.ts";
import { HQ_DEPLOYMENT, REMOTES } from "./kubernetes-cluster.ts";
import { PodNetwork } from "./pod-network.ts";
import { NODE_PROGRAM, SpareNode } from "./spare-node.ts";
import { stagedCluster } from "./staged-cluster.ts";

const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };
const STAYS = "ttyhq-remote-0";
const MOVES = "ttyhq-remote-1";
const API_PORT = 443;

const stage = stagedCluster({ remotes: 1, usesSpareNode: true });
let spare: SpareNode | undefined;

function spareNode(): SpareNode {
  if (spare === undefined) throw new Error("the spare node has not joined");
  return spare;
}

/** A second remote, on the spare node: pods spread. */
async function secondRemote(): Promise<Pod> {
  const { cluster } = stage;
  await cluster.kubectl.does("scale", REMOTES, "--replicas=2");
  await cluster.rolledOut(REMOTES);
  await cluster.lists([STAYS, MOVES]);
  const pod = await cluster.remote(MOVES);
  expect(pod.spec.nodeName).toBe(spareNode().name);
  return pod;
}

async function shellOn(remote: string): Promise<TerminalClient> {
  const { cluster } = stage;
  const shell = await cluster.client.run({ remoteId: await cluster.remoteId(remote), command: ["sh"] });
  await answers(shell, 42);
  return shell;
}

/** What is known of a session whose pod is another one by now. */
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

describe.skipIf(NODE_PROGRAM === undefined)("a node", () => {
  // Later than the cluster, whose first pods are elsewhere for that.
  beforeAll(async () => {
    spare = await SpareNode.join(stage.cluster.kubectl);
  });
  afterAll(async () => {
    await spare?.[Symbol.asyncDispose]();
  });

  // What a node filters is what it forwards, in many clusters: to an API server on the same node goes nothing of that.
  test("is joined: its remote does not reach the API server, which other pods there do", async () => {
    const { cluster } = stage;
    const network = new PodNetwork(cluster);
    await secondRemote();
    await network.joins("bystander", spareNode().name);
    const api = await cluster.kubectl.does("exec", "bystander", "--", "printenv", "KUBERNETES_SERVICE_HOST");
    await network.becomes("connected", "bystander", "bystander", api, API_PORT);
    await network.becomes("silence", MOVES, "session-host", api, API_PORT);
    await network.becomes("silence", MOVES, "server", api, API_PORT);
    // A drain leaves nobody behind who would start it again.
    await cluster.kubectl.does("delete", "pod", "bystander");
  });

  test("is cordoned and drained: who works elsewhere notices nothing, and its remote comes back on another one", async () => {
    const { cluster } = stage;
    const node = spareNode();
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
    const node = spareNode();
    const before = await secondRemote();
    const remoteId = await cluster.remoteId(MOVES);
    using stays = await shellOn(STAYS);
    using moves = await shellOn(MOVES);
    const { sessionId } = moves;
    // A recording is on the disk a moment after it was seen.
    const flushed = async (): Promise<true | undefined> => {
      const stored = await cluster.client.api.bytes(endpoints.sessionOutput, { params: { id: sessionId } });
      return stored.length === moves.offset || undefined;
    };
    await cluster.eventually(flushed, "the recording");
    const seen = moves.bytes;

    await node.fail();
    await cluster.lists([STAYS]);
    await answers(stays, 144);
    await cluster.kubectl.awaits("wait", `node/${node.name}`, "--for=condition=Ready=Unknown");
    // Whether the machine is gone for good only its operator knows: Kubernetes waits until it is told.
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
