// ttyhq deployed from the project's own files, in a namespace of its own, on the cluster of KUBECONFIG.
import { randomBytes } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { IMAGE, ROOT } from "../containers/built-image.ts";
import { output } from "../containers/docker.ts";
import { encryptedAccess, plainAccess } from "./hq-access.ts";
import { CHANGE_TIMEOUT_MS, isReady, Kubectl, type Pod } from "./kubectl.ts";
import { isLab } from "./overlay.ts";
import { NODE_PROGRAM } from "./spare-node.ts";

export const HQ = "app.kubernetes.io/component=hq";
export const REMOTE = "app.kubernetes.io/component=remote";
export const HQ_DEPLOYMENT = "deployment/ttyhq-hq";
export const REMOTES = "statefulset/ttyhq-remote";

/** They would replace a deleted pod. */
const CONTROLLERS = "deployments,replicasets,statefulsets";

/** The kinds whose pods stay away from the spare node. */
const PINNED = { none: "Deployment|StatefulSet", hq: "StatefulSet", all: undefined };

/** The HQ's codes for an unreachable or just removed remote. */
const UNREACHED: readonly string[] = ["remote_unreachable", "remote_timeout", "remote_not_found"];

export type StartOptions = {
  /** Default: two. */
  readonly remotes?: number;
  /** With the component `tls`. */
  readonly hasTls?: boolean;
  /** Two HQs, with the component `ha` and this one. */
  readonly sharedRegistry?: "redis" | "redis-sentinel";
  /** For the HQ: VARIABLE=value. */
  readonly settings?: readonly string[];
  /** For the remotes. */
  readonly remoteSettings?: readonly string[];
  /** In addition to the project's own files: entries of a kustomization. */
  readonly patches?: readonly object[];
  /** The pods that may be placed on the spare node. Default: none, because it dies while other tests run. */
  readonly spareNodeUse?: keyof typeof PINNED;
};

/** Disposal removes the namespace with its content. */
export class KubernetesCluster implements AsyncDisposable {
  readonly kubectl: Kubectl;
  readonly #options: StartOptions;
  readonly #owned = new AsyncDisposableStack();
  #client: ServerClient | undefined;

  private constructor(namespace: string, options: StartOptions) {
    this.kubectl = new Kubectl(namespace);
    this.#options = options;
  }

  /**
   * Resolves when the HQ is ready and all remotes are ready and registered. Rejects with the scene, after cleaning up.
   */
  static async start(options: StartOptions = {}): Promise<KubernetesCluster> {
    const cluster = new KubernetesCluster(`ttyhq-test-${randomBytes(4).toString("hex")}`, options);
    try {
      await cluster.#deploy();
      return cluster;
    } catch (error) {
      const scene = await cluster.kubectl.scene();
      await cluster[Symbol.asyncDispose]();
      throw new Error(`no cluster: ${error}\n${scene}`, { cause: error });
    }
  }

  /** The HQ's client, with its generated login. Without TLS its address does not depend on the HQ's pods. */
  get client(): ServerClient {
    if (this.#client === undefined) throw new Error("the cluster has not started");
    return this.#client;
  }

  /** The one pod of the HQ. */
  async hq(): Promise<Pod> {
    const [pod, ...others] = await this.kubectl.pods(HQ);
    if (pod === undefined || others.length > 0) throw new Error(`${1 + others.length} pods of the HQ`);
    return pod;
  }

  /** In the order of their names. */
  remotes(): Promise<readonly Pod[]> {
    return this.kubectl.pods(REMOTE);
  }

  async remote(name: string): Promise<Pod> {
    const pod = (await this.remotes()).find(({ metadata }) => metadata.name === name);
    if (pod === undefined) throw new Error(`there is no pod ${name}`);
    return pod;
  }

  /** The id of a remote at the HQ, once it is registered there. */
  remoteId(name: string): Promise<string> {
    const check = async (): Promise<string | undefined> =>
      (await this.client.api.call(endpoints.listRemotes)).find((remote) => remote.name === name)?.id;
    return this.eventually(check, `the registration of ${name}`);
  }

  /**
   * Resolves when the HQ lists exactly these remotes, and reaches each: DNS may know a new pod only after it has
   * registered.
   */
  async lists(names: readonly string[]): Promise<void> {
    const check = async (): Promise<true | undefined> => {
      const listed = (await this.client.api.call(endpoints.listRemotes)).map(({ name }) => name);
      if (listed.toSorted().join() !== names.toSorted().join()) return undefined;
      const reached = await Promise.all(names.map((name) => this.#reaches(name)));
      return reached.every(Boolean) || undefined;
    };
    await this.eventually(check, `a list of the remotes ${names}`);
  }

  async #reaches(name: string): Promise<boolean> {
    try {
      await this.client.api.call({ ...endpoints.health, path: `/api/remotes/${name}/proxy/api/health` });
      return true;
    } catch (error) {
      if (error instanceof ServiceError && UNREACHED.includes(error.code)) return false;
      throw error;
    }
  }

  /** Resolves when another pod has replaced this one and is ready. */
  replaced({ metadata: { name, uid } }: Pod): Promise<Pod> {
    const check = async (): Promise<Pod | undefined> => {
      const pod = (await this.remotes()).find((each) => each.metadata.name === name);
      return pod !== undefined && pod.metadata.uid !== uid && isReady(pod) ? pod : undefined;
    };
    return this.eventually(check, `another pod ${name}`);
  }

  /** Resolves when a rollout of all pods is complete. */
  async rolledOut(what: string): Promise<void> {
    await this.kubectl.awaits("rollout", "status", what);
  }

  /** Polls. Its error shows the whole cluster. */
  async eventually<T>(check: () => Promise<T | undefined>, what: string): Promise<T> {
    try {
      return await eventually(check, what, { timeoutMs: CHANGE_TIMEOUT_MS });
    } catch (error) {
      throw new Error(`${error}\n${await this.kubectl.scene()}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    const { kubectl } = this;
    // Left to the namespace's end, remotes would wait for their sessions, and take room from the next test's pods.
    await kubectl.does("delete", CONTROLLERS, "--all", "--cascade=orphan", "--wait=false");
    await kubectl.does("delete", "pods", "--all", "--grace-period=1", "--wait=false");
    await kubectl.does("delete", "namespace", kubectl.namespace, "--wait=false", "--ignore-not-found");
  }

  /** Applies the project's files again, as at the start. */
  async apply(): Promise<void> {
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-k8s-"));
    const kustomization = await this.#kustomization(folder.path, this.#options);
    await writeFile(join(folder.path, "kustomization.yaml"), JSON.stringify(kustomization));
    await this.kubectl.does("apply", "--kustomize", folder.path);
    await this.rolledOut(HQ_DEPLOYMENT);
    await this.rolledOut(REMOTES);
  }

  async #deploy(): Promise<void> {
    const { hasTls = false, sharedRegistry } = this.#options;
    const kinds = [
      ...(hasTls ? ["--tls"] : []),
      ...(sharedRegistry === undefined ? [] : [`--${sharedRegistry}`]),
    ];
    await output(join(ROOT, "k8s/make-secrets"), [...kinds, this.kubectl.namespace]);
    await this.apply();
    this.#client = await this.#connect(this.#options);
    const names = Array.from({ length: remotesOf(this.#options) }, (_, index) => `ttyhq-remote-${index}`);
    await this.lists(names);
  }

  /** Like an operator's overlay. The tests exceed limits for people. */
  async #kustomization(folder: string, options: StartOptions): Promise<object> {
    const { settings = [], remoteSettings = [], patches = [], spareNodeUse = "none" } = options;
    const pinned = NODE_PROGRAM && PINNED[spareNodeUse];
    const components = [
      ...(options.hasTls === true ? ["tls"] : []),
      ...(options.sharedRegistry === undefined ? [] : ["ha", options.sharedRegistry]),
      ...((await isLab(this.kubectl)) ? ["lab"] : []),
    ];
    const [name = "", tag = "latest"] = IMAGE.split(/:(?=[^/]*$)/);
    const limits = ["TTYHQ_RATE_LIMIT_API=0", "TTYHQ_RATE_LIMIT_SESSIONS=0"];
    return {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      namespace: this.kubectl.namespace,
      resources: [relative(folder, join(ROOT, "k8s/base"))],
      components: components.map((name) => relative(folder, join(ROOT, "k8s/components", name))),
      images: [{ name: "ttyhq", newName: name, newTag: tag }],
      replicas: [{ name: "ttyhq-remote", count: remotesOf(options) }],
      configMapGenerator: [
        { name: "ttyhq-hq", behavior: "merge", literals: [...limits, ...settings] },
        { name: "ttyhq-remote", behavior: "merge", literals: [...limits, ...remoteSettings] },
      ],
      patches: [
        {
          target: { kind: "Service", name: "ttyhq-hq" },
          patch: JSON.stringify([{ op: "add", path: "/spec/type", value: "NodePort" }]),
        },
        ...(pinned ? [await this.#onOldestNode(pinned)] : []),
        ...patches,
      ],
    };
  }

  async #onOldestNode(kind: string): Promise<object> {
    const [oldest] = await this.kubectl.nodes();
    const label = "kubernetes.io/hostname";
    const nodeSelector = { [label]: oldest?.metadata.labels[label] };
    return {
      target: { kind },
      patch: JSON.stringify([{ op: "add", path: "/spec/template/spec/nodeSelector", value: nodeSelector }]),
    };
  }

  async #connect({ hasTls = false }: StartOptions): Promise<ServerClient> {
    const access = hasTls
      ? await encryptedAccess(this.kubectl, this.#owned)
      : await plainAccess(this.kubectl);
    return this.#owned.use(new ServerClient(access));
  }
}

function remotesOf({ remotes = 2 }: StartOptions): number {
  return remotes;
}
