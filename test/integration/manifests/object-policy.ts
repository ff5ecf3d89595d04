// Rules between the objects of an overlay: selectors and references.
import type { DisruptionBudget, Ingress, Manifest, NetworkPolicy, Service, Workload } from "./manifest.ts";
import { labelsOf, nameOf, selects } from "./manifest.ts";

const DIRECTIONS = ["Ingress", "Egress"] as const;
/** Objects that belong to no namespace. */
const CLUSTER_WIDE = ["Namespace"];

export function objectProblems(manifest: Manifest): readonly string[] {
  const { workloads, services, networkPolicies, budgets, ingresses } = manifest;
  return [
    ...secrets(manifest),
    ...namespaces(manifest),
    ...twice(manifest),
    ...workloads.flatMap((each) => told(each, workloadProblems(each, manifest))),
    ...services.flatMap((each) => told(each, serviceProblems(each, workloads))),
    ...networkPolicies.flatMap((each) => told(each, networkPolicyProblems(each, workloads))),
    ...budgets.flatMap((each) => told(each, budgetProblems(each, workloads))),
    ...ingresses.flatMap((each) => told(each, ingressProblems(each, services))),
  ];
}

function told(
  object: { readonly kind: string; readonly metadata: { readonly name: string } },
  problems: readonly string[],
): readonly string[] {
  return problems.map((problem) => `${nameOf(object)}: ${problem}`);
}

function secrets({ objects }: Manifest): readonly string[] {
  return objects
    .filter(({ kind }) => kind === "Secret")
    .flatMap((each) => told(each, ["is a secret in a file"]));
}

function namespaces({ objects }: Manifest): readonly string[] {
  const own = objects.filter(({ kind }) => kind === "Namespace");
  const isOpen = own.filter(
    ({ metadata }) => metadata.labels?.["pod-security.kubernetes.io/enforce"] !== "restricted",
  );
  const names = own.map(({ metadata }) => metadata.name);
  const elsewhere = objects.filter(
    ({ kind, metadata }) =>
      !CLUSTER_WIDE.includes(kind) &&
      (metadata.namespace === undefined || !names.includes(metadata.namespace)),
  );
  return [
    ...isOpen.flatMap((each) => told(each, ["does not enforce restricted pods"])),
    ...elsewhere.flatMap((each) => told(each, ["is in no namespace of ours"])),
  ];
}

function twice({ objects }: Manifest): readonly string[] {
  const names = objects.map(nameOf);
  return names
    .filter((name, index) => names.indexOf(name) !== index)
    .map((name) => `${name}: is there twice`);
}

function workloadProblems(workload: Workload, { services, networkPolicies }: Manifest): readonly string[] {
  const { selector, serviceName } = workload.spec;
  const labels = labelsOf(workload);
  const governing = services.find(({ metadata }) => metadata.name === serviceName);
  const open = DIRECTIONS.filter(
    (direction) =>
      !networkPolicies.some(
        ({ spec }) => spec.policyTypes.includes(direction) && selects(spec.podSelector, labels),
      ),
  );
  return [
    ...(selects(selector, labels) ? [] : ["does not select its own pods"]),
    ...(workload.kind === "StatefulSet" && governing?.spec.clusterIP !== "None"
      ? ["has no headless Service that gives its pods names"]
      : []),
    ...open.map((direction) => `no NetworkPolicy limits its ${direction}`),
  ];
}

function serviceProblems({ spec }: Service, workloads: readonly Workload[]): readonly string[] {
  const chosen = workloads.filter((each) => selects({ matchLabels: spec.selector }, labelsOf(each)));
  if (Object.keys(spec.selector).length === 0 || chosen.length === 0) return ["selects no pod"];
  return spec.ports
    .map(({ port, targetPort = port }) => targetPort)
    .filter((target) => !chosen.every((each) => hasPort(each, target)))
    .map((target) => `leads to port ${target}, which its pods do not have`);
}

function networkPolicyProblems({ spec }: NetworkPolicy, workloads: readonly Workload[]): readonly string[] {
  const chosen = workloads.filter((each) => selects(spec.podSelector, labelsOf(each)));
  if (chosen.length === 0) return ["selects no pod"];
  const peers = [...spec.ingress.flatMap(({ from }) => from), ...spec.egress.flatMap(({ to }) => to)];
  const strangers = peers.filter(
    ({ podSelector, namespaceSelector }) =>
      podSelector !== undefined &&
      namespaceSelector === undefined &&
      !workloads.some((each) => selects(podSelector, labelsOf(each))),
  );
  const closed = spec.ingress
    .flatMap(({ ports }) => ports.flatMap(({ port }) => port ?? []))
    .filter((port) => !chosen.some((each) => hasPort(each, port)));
  return [
    ...spec.egress
      .filter(({ to }) => to.length === 0)
      .map(() => "lets its pods reach every address at a port"),
    ...peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : reachedWithin(ipBlock))),
    ...strangers.map(({ podSelector }) => `allows ${JSON.stringify(podSelector)}, which is no pod of ours`),
    ...closed.map((port) => `allows port ${port}, which its pods do not have`),
  ];
}

/**
 * Addresses of the API server, other pods, and the cloud's metadata, unless they are public. Named targets are
 * intended.
 */
const PRIVATE = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"];

function reachedWithin({
  cidr,
  except,
}: {
  readonly cidr: string;
  readonly except: readonly string[];
}): readonly string[] {
  if (cidr !== "0.0.0.0/0") return [];
  return PRIVATE.filter((range) => !except.includes(range)).map(
    (range) => `allows ${range}, where the API server may be`,
  );
}

function budgetProblems({ spec }: DisruptionBudget, workloads: readonly Workload[]): readonly string[] {
  const chosen = workloads.filter((each) => selects(spec.selector, labelsOf(each)));
  if (chosen.length === 0) return ["selects no pod"];
  const replicas = Math.min(...chosen.map((each) => each.spec.replicas));
  const { minAvailable, maxUnavailable } = spec;
  if (minAvailable === undefined && maxUnavailable === undefined)
    return ["says neither how many nor how few"];
  const isLocked =
    maxUnavailable === 0 ||
    maxUnavailable === "0%" ||
    minAvailable === "100%" ||
    (typeof minAvailable === "number" && minAvailable >= replicas);
  return isLocked ? ["lets no node be emptied"] : [];
}

function ingressProblems({ spec }: Ingress, services: readonly Service[]): readonly string[] {
  const backends = spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service));
  const lost = backends.filter(
    ({ name, port }) =>
      !services.some(
        (each) =>
          each.metadata.name === name &&
          each.spec.ports.some((own) => own.name === port.name || own.port === port.number),
      ),
  );
  return [
    ...lost.map(
      ({ name, port }) => `leads to port ${port.name ?? port.number} of ${name}, which is not there`,
    ),
    ...(spec.tls.length === 0 ? ["takes passwords without TLS"] : []),
  ];
}

function hasPort({ spec }: Workload, port: string | number): boolean {
  return spec.template.spec.containers.some(({ ports }) =>
    ports.some(({ name, containerPort }) => name === port || containerPort === port),
  );
}
