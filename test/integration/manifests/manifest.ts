// The parts of Kubernetes objects that the policy checks; the API's schemas check the rest.
import { z } from "zod";

const Labels = z.record(z.string(), z.string());
const Selector = z.object({ matchLabels: Labels.optional(), matchExpressions: z.unknown().optional() });
const Metadata = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  labels: Labels.optional(),
});

const HttpGet = z.object({
  path: z.string().optional(),
  port: z.union([z.string(), z.number()]),
  scheme: z.string().optional(),
});
const Probe = z.object({
  httpGet: HttpGet.optional(),
  exec: z.unknown().optional(),
  tcpSocket: z.unknown().optional(),
});
export type Probe = z.infer<typeof Probe>;
const Amounts = z.object({ cpu: z.string().optional(), memory: z.string().optional() });
const EnvVariable = z.object({ name: z.string(), value: z.string().optional() });
export const Container = z.object({
  name: z.string(),
  image: z.string(),
  env: z.array(EnvVariable).default([]),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }).optional() })).default([]),
  ports: z.array(z.object({ name: z.string().optional(), containerPort: z.int() })).default([]),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  lifecycle: z.object({ preStop: z.unknown().optional() }).optional(),
  resources: z.object({ requests: Amounts.default({}), limits: Amounts.default({}) }).default({
    requests: {},
    limits: {},
  }),
  securityContext: z
    .object({
      allowPrivilegeEscalation: z.boolean().optional(),
      privileged: z.boolean().optional(),
      readOnlyRootFilesystem: z.boolean().optional(),
      runAsNonRoot: z.boolean().optional(),
      runAsUser: z.int().optional(),
      capabilities: z
        .object({ drop: z.array(z.string()).default([]), add: z.array(z.string()).default([]) })
        .default({ drop: [], add: [] }),
    })
    .optional(),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).default([]),
});
export type Container = z.infer<typeof Container>;

const Volume = z.looseObject({
  name: z.string(),
  persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
  configMap: z.object({ name: z.string() }).optional(),
});
const PodSpec = z.object({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  enableServiceLinks: z.boolean().optional(),
  hostNetwork: z.boolean().optional(),
  hostPID: z.boolean().optional(),
  hostIPC: z.boolean().optional(),
  terminationGracePeriodSeconds: z.int().optional(),
  topologySpreadConstraints: z.array(z.object({ labelSelector: Selector })).default([]),
  securityContext: z
    .object({
      runAsNonRoot: z.boolean().optional(),
      runAsUser: z.int().optional(),
      seccompProfile: z.object({ type: z.string() }).optional(),
    })
    .default({}),
  initContainers: z.array(Container).default([]),
  containers: z.array(Container),
  volumes: z.array(Volume).default([]),
});
export type PodSpec = z.infer<typeof PodSpec>;

export const Workload = z.object({
  kind: z.enum(["Deployment", "StatefulSet", "DaemonSet"]),
  metadata: Metadata,
  spec: z.object({
    replicas: z.int().default(1),
    serviceName: z.string().optional(),
    strategy: z.object({ type: z.string().optional() }).optional(),
    selector: Selector,
    template: z.object({ metadata: z.object({ labels: Labels.default({}) }), spec: PodSpec }),
    volumeClaimTemplates: z.array(z.object({ metadata: Metadata })).default([]),
  }),
});
export type Workload = z.infer<typeof Workload>;

export const Service = z.object({
  kind: z.literal("Service"),
  metadata: Metadata,
  spec: z.object({
    clusterIP: z.string().optional(),
    selector: Labels.default({}),
    ports: z.array(
      z.object({
        name: z.string().optional(),
        port: z.int(),
        targetPort: z.union([z.string(), z.number()]).optional(),
      }),
    ),
  }),
});
export type Service = z.infer<typeof Service>;

const Peer = z.object({
  podSelector: Selector.optional(),
  namespaceSelector: Selector.optional(),
  ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
});
const RulePorts = z.array(z.object({ port: z.union([z.string(), z.number()]).optional() })).default([]);
export const NetworkPolicy = z.object({
  kind: z.literal("NetworkPolicy"),
  metadata: Metadata,
  spec: z.object({
    podSelector: Selector,
    policyTypes: z.array(z.enum(["Ingress", "Egress"])),
    ingress: z.array(z.object({ from: z.array(Peer).default([]), ports: RulePorts })).default([]),
    egress: z.array(z.object({ to: z.array(Peer).default([]), ports: RulePorts })).default([]),
  }),
});
export type NetworkPolicy = z.infer<typeof NetworkPolicy>;

const Share = z.union([z.int(), z.string()]).optional();
export const DisruptionBudget = z.object({
  kind: z.literal("PodDisruptionBudget"),
  metadata: Metadata,
  spec: z.object({ minAvailable: Share, maxUnavailable: Share, selector: Selector }),
});
export type DisruptionBudget = z.infer<typeof DisruptionBudget>;

const Backend = z.object({
  service: z.object({
    name: z.string(),
    port: z.object({ name: z.string().optional(), number: z.int().optional() }),
  }),
});
export const Ingress = z.object({
  kind: z.literal("Ingress"),
  metadata: Metadata,
  spec: z.object({
    tls: z.array(z.unknown()).default([]),
    rules: z
      .array(z.object({ http: z.object({ paths: z.array(z.object({ backend: Backend })) }) }))
      .default([]),
  }),
});
export type Ingress = z.infer<typeof Ingress>;

/** The checked part of other kinds. */
export const Other = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: Metadata,
});
export type Other = z.infer<typeof Other>;

/** The objects of one overlay, sorted by kind. */
export type Manifest = {
  readonly workloads: readonly Workload[];
  readonly services: readonly Service[];
  readonly networkPolicies: readonly NetworkPolicy[];
  readonly budgets: readonly DisruptionBudget[];
  readonly ingresses: readonly Ingress[];
  /** All of them. */
  readonly objects: readonly Other[];
};

export function readManifest(objects: readonly unknown[]): Manifest {
  const all = objects.map((object) => Other.parse(object));
  const of = <T>(schema: z.ZodType<T>, ...kinds: readonly string[]): readonly T[] =>
    all.filter(({ kind }) => kinds.includes(kind)).map((object) => schema.parse(object));
  return {
    objects: all,
    workloads: of(Workload, "Deployment", "StatefulSet", "DaemonSet"),
    services: of(Service, "Service"),
    networkPolicies: of(NetworkPolicy, "NetworkPolicy"),
    budgets: of(DisruptionBudget, "PodDisruptionBudget"),
    ingresses: of(Ingress, "Ingress"),
  };
}

/** Whether a selector matches these labels; we use no selectors with expressions. */
export function selects(
  selector: z.infer<typeof Selector>,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector.matchExpressions !== undefined)
    throw new Error("a selector with expressions: teach the policy");
  return Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}

export function labelsOf({ spec }: Workload): Readonly<Record<string, string>> {
  return spec.template.metadata.labels;
}

export function nameOf({ kind, metadata }: { kind: string; metadata: { name: string } }): string {
  return `${kind}/${metadata.name}`;
}
