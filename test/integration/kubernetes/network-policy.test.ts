import { expect, test } from "vitest";
import { IMAGE } from "../containers/built-image.ts";
import type { Pod } from "./kubectl.ts";
import { HQ, REMOTES } from "./kubernetes-cluster.ts";
import { NODE_PROGRAM, SpareNode } from "./spare-node.ts";
import { stagedCluster } from "./staged-cluster.ts";

/** A packet that a policy drops is answered by nobody. */
const NO_ANSWER_MS = 3_000;
const PORT = 4020;
const DNS_PORT = 53;
const API_PORT = 443;
const CONNECT = `
const socket = require("node:net").connect({ host: process.argv[1], port: Number(process.argv[2]) });
const end = (what) => { console.log(what); process.exit(); };
socket.on("connect", () => end("connected")).on("error", (error) => end(error.code));
setTimeout(() => end("silence"), ${NO_ANSWER_MS});`;
const LISTEN = `require("node:net").createServer((socket) => socket.end()).listen(${PORT}); process.on("SIGTERM", process.exit);`;

const stage = stagedCluster({ remotes: 2 });

/** Again and again until it comes out as expected: rules take a moment to reach a node. */
async function becomes(
  expected: string,
  from: string,
  container: string,
  host: string,
  port = PORT,
): Promise<void> {
  const command = ["node", "-e", CONNECT, host, `${port}`];
  const check = async (): Promise<true | undefined> => {
    const said = await stage.cluster.kubectl.does("exec", from, `--container=${container}`, "--", ...command);
    return said === expected || undefined;
  };
  await stage.cluster.eventually(check, `${expected} from ${from} to ${host}`);
}

/** A pod of somebody else in the same namespace, such as the namespace wants pods to be, that listens. */
async function joins(name: string, place: { readonly nodeName?: string } = {}): Promise<string> {
  const { kubectl } = stage.cluster;
  const container = {
    ...{ name, image: IMAGE, imagePullPolicy: "IfNotPresent", command: ["node", "-e", LISTEN] },
    readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
  const spec = {
    ...{ automountServiceAccountToken: false, containers: [container], ...place },
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } },
  };
  await kubectl.does("run", name, `--image=${IMAGE}`, `--overrides=${JSON.stringify({ spec })}`);
  await kubectl.awaits("wait", `pod/${name}`, "--for=condition=Ready");
  return addressOf(await kubectl.pod(name));
}

function addressOf({ metadata, status }: Pod): string {
  if (status.podIP === undefined) throw new Error(`${metadata.name} has no address`);
  return status.podIP;
}

test("remotes are reached by the HQ and by nobody else, and reach nothing in the cluster but the HQ", async () => {
  const { cluster } = stage;
  const [one = "", other = ""] = (await cluster.remotes()).map(addressOf);
  const hq = await cluster.hq();
  await becomes("connected", hq.metadata.name, "hq", one);
  await becomes("connected", hq.metadata.name, "hq", other);
  await becomes("silence", "ttyhq-remote-1", "server", one);
  await becomes("silence", "ttyhq-remote-1", "session-host", one);

  const stranger = await joins("stranger");
  await joins("another");
  await becomes("connected", "stranger", "stranger", addressOf(hq));
  await becomes("silence", "stranger", "stranger", one);
  await becomes("connected", "another", "another", stranger);
  await becomes("silence", "ttyhq-remote-0", "session-host", stranger);
  await becomes("silence", hq.metadata.name, "hq", stranger);
  // Nothing listens there: who may ask is refused, and who may not hears nothing.
  await becomes("ECONNREFUSED", "another", "another", stranger, DNS_PORT);
  await becomes("silence", "ttyhq-remote-0", "session-host", stranger, DNS_PORT);
  await becomes("connected", "ttyhq-remote-0", "session-host", "ttyhq-hq");

  // It is the labels that make the difference.
  await cluster.kubectl.does("label", "pod", "another", HQ, "app.kubernetes.io/name=ttyhq");
  await becomes("connected", "another", "another", one);
});

// What a node filters is what it forwards, in many clusters: to an API server on the same node goes nothing of that.
test.skipIf(NODE_PROGRAM === undefined)(
  "remotes do not reach the API server from another node, which other pods there do",
  async () => {
    const { cluster } = stage;
    await using node = await SpareNode.join(cluster.kubectl);
    await cluster.kubectl.does("scale", REMOTES, "--replicas=3");
    await cluster.rolledOut(REMOTES);
    // Pods spread.
    const remote = "ttyhq-remote-2";
    expect((await cluster.remote(remote)).spec.nodeName).toBe(node.name);
    await joins("bystander", { nodeName: node.name });
    const api = await cluster.kubectl.does("exec", "bystander", "--", "printenv", "KUBERNETES_SERVICE_HOST");
    await becomes("connected", "bystander", "bystander", api, API_PORT);
    await becomes("silence", remote, "session-host", api, API_PORT);
    await becomes("silence", remote, "server", api, API_PORT);
    await cluster.kubectl.does("scale", REMOTES, "--replicas=2");
  },
);
