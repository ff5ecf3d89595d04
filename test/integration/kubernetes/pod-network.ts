// Reachability in a namespace: connections from pods, and pods of other owners.
import { IMAGE } from "../containers/built-image.ts";
import type { Pod } from "./kubectl.ts";
import type { KubernetesCluster } from "./kubernetes-cluster.ts";

/** A packet that a policy drops gets no answer. */
const NO_ANSWER_MS = 3_000;
const PORT = 4020;
const CONNECT = `
const socket = require("node:net").connect({ host: process.argv[1], port: Number(process.argv[2]) });
const end = (what) => { console.log(what); process.exit(); };
socket.on("connect", () => end("connected")).on("error", (error) => end(error.code));
setTimeout(() => end("silence"), ${NO_ANSWER_MS});`;
const LISTEN = `require("node:net").createServer((socket) => socket.end()).listen(${PORT}); process.on("SIGTERM", process.exit);`;

export class PodNetwork {
  readonly #cluster: KubernetesCluster;

  constructor(cluster: KubernetesCluster) {
    this.#cluster = cluster;
  }

  /** Connects repeatedly until the result is as expected: rules reach a node with a delay. */
  async becomes(expected: string, from: string, container: string, host: string, port = PORT): Promise<void> {
    const command = ["node", "-e", CONNECT, host, `${port}`];
    const check = async (): Promise<true | undefined> => {
      const said = await this.#cluster.kubectl.does(
        "exec",
        from,
        `--container=${container}`,
        "--",
        ...command,
      );
      return said === expected || undefined;
    };
    await this.#cluster.eventually(check, `${expected} from ${from} to ${host}`);
  }

  /** A listening pod of another owner that the namespace admits; returns its address. `nodeName`: default the HQ's. */
  async joins(name: string, nodeName?: string): Promise<string> {
    const { kubectl } = this.#cluster;
    const place = { nodeName: nodeName ?? (await this.#cluster.hq()).spec.nodeName };
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
}

export function addressOf({ metadata, status }: Pod): string {
  if (status.podIP === undefined) throw new Error(`${metadata.name} has no address`);
  return status.podIP;
}
