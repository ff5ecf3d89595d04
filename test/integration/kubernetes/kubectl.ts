// The `kubectl` command in one namespace, as an operator uses it.
import { z } from "zod";
import { output, type Ran, type RunOptions, run } from "../containers/docker.ts";

/** For a command that does not wait for the cluster. */
const COMMAND_TIMEOUT_MS = 60_000;
/** For a command that does. */
export const CHANGE_TIMEOUT_MS = 180_000;
const LOG_LINES = 15;

const Metadata = z.object({
  name: z.string(),
  uid: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  deletionTimestamp: z.string().optional(),
});
const ContainerStatus = z.object({
  name: z.string(),
  ready: z.boolean(),
  restartCount: z.int(),
  state: z.object({ running: z.object({}).optional() }),
});
export const Pod = z.object({
  metadata: Metadata,
  spec: z.object({
    nodeName: z.string().optional(),
    containers: z.array(z.object({ name: z.string(), image: z.string() })),
  }),
  status: z.object({
    phase: z.string(),
    podIP: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    containerStatuses: z.array(ContainerStatus).default([]),
  }),
});
export type Pod = z.infer<typeof Pod>;
const Pods = z.object({ items: z.array(Pod) });
const Address = z.object({ type: z.string(), address: z.string() });
/** A joining node has no addresses yet. */
const Node = z.object({
  metadata: Metadata,
  status: z.object({ addresses: z.array(Address).default([]) }),
});
const Nodes = z.object({ items: z.array(Node) });

export class Kubectl {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Runs it to its end, successful or not. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return run("kubectl", this.#all(args), { timeoutMs: COMMAND_TIMEOUT_MS, ...options });
  }

  /** Its standard output; throws with all its output if it fails. */
  does(...args: string[]): Promise<string> {
    return output("kubectl", this.#all(args), { timeoutMs: COMMAND_TIMEOUT_MS });
  }

  /** The same for a command that waits for a condition. */
  awaits(...args: string[]): Promise<string> {
    const limited = [...args, `--timeout=${CHANGE_TIMEOUT_MS / 1000}s`];
    return output("kubectl", this.#all(limited), { timeoutMs: CHANGE_TIMEOUT_MS + COMMAND_TIMEOUT_MS });
  }

  async get<T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> {
    return schema.parse(JSON.parse(await this.does("get", ...args, "--output=json")));
  }

  pod(name: string): Promise<Pod> {
    return this.get(Pod, "pod", name);
  }

  /** Without terminating ones, in the order of their names. */
  async pods(selector: string): Promise<readonly Pod[]> {
    const pods = await this.allPods(selector);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Including terminating ones, in the order of their names. */
  async allPods(selector: string): Promise<readonly Pod[]> {
    const { items } = await this.get(Pods, "pods", `--selector=${selector}`);
    return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** Of the cluster, the oldest first. */
  async nodes(): Promise<readonly z.infer<typeof Node>[]> {
    return (await this.get(Nodes, "nodes", "--sort-by=.metadata.creationTimestamp")).items;
  }

  /** Runs a shell script in a container of a pod. */
  sh(pod: string, container: string, script: string): Promise<string> {
    return this.does("exec", pod, `--container=${container}`, "--", "sh", "-c", script);
  }

  /** Sends a signal to the server or session host of a container, below its init and supervisor. */
  async signal(pod: string, container: string, signal: "CONT" | "KILL" | "STOP" | "TERM"): Promise<void> {
    await this.sh(pod, container, `kill -${signal} $(pgrep -of "^node ")`);
  }

  /** An operator's first overview: all objects, their events, and the ends of the logs. */
  async scene(): Promise<string> {
    const commands = [
      ["get", "all,pvc,pdb,networkpolicy", "--output=wide"],
      ["get", "events", "--sort-by=.lastTimestamp"],
    ];
    const { stdout } = await this.run(["get", "pods", "--output=name"]);
    const logs = stdout
      .split("\n")
      .filter((name) => name !== "")
      .map((name) => ["logs", name, "--all-containers", "--prefix", `--tail=${LOG_LINES}`]);
    const said = await Promise.all([...commands, ...logs].map((command) => this.run(command)));
    return said.map(({ stdout: told, stderr }) => `${told}\n${stderr}`).join("\n");
  }

  #all(args: readonly string[]): string[] {
    return [`--namespace=${this.namespace}`, ...args];
  }
}

/** Whether all its containers are ready. */
export function isReady({ status }: Pod): boolean {
  return status.conditions.some(({ type, status: value }) => type === "Ready" && value === "True");
}

/** The status of one of its containers. */
export function containerOf({ metadata, status }: Pod, name: string): z.infer<typeof ContainerStatus> {
  const found = status.containerStatuses.find((container) => container.name === name);
  if (found === undefined) throw new Error(`nothing is known of ${name} in ${metadata.name}`);
  return found;
}
