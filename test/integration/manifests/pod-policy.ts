// Rules for every pod and every container.
import { isDeepStrictEqual } from "node:util";
import type { Container, Manifest, PodSpec, Workload } from "./manifest.ts";
import { labelsOf, nameOf, selects } from "./manifest.ts";

const PROBES = ["startupProbe", "livenessProbe", "readinessProbe"] as const;
const AMOUNTS = ["cpu", "memory"] as const;
/** Variables that hold a secret, by name, instead of naming its file. */
const SECRET = /(?:PASSWORD|SECRET|TOKEN|CREDENTIALS?|PRIVATE_KEY)$/;

export function podProblems(workload: Workload, manifest: Manifest): readonly string[] {
  const { spec } = workload.spec.template;
  const name = nameOf(workload);
  const about = (problems: readonly string[], container?: Container): readonly string[] =>
    problems.map((problem) => `${name}${container === undefined ? "" : ` ${container.name}`}: ${problem}`);
  return [
    ...about([
      ...standing(spec),
      ...accounts(spec, manifest),
      ...spread(workload),
      ...storage(workload, manifest),
    ]),
    ...spec.containers.flatMap((each) =>
      about([...probes(each), ...bothKinds(each, workload, manifest)], each),
    ),
    ...spec.initContainers.flatMap((each) => about(bothKinds(each, workload, manifest), each)),
  ];
}

function bothKinds(container: Container, workload: Workload, manifest: Manifest): readonly string[] {
  const { spec } = workload.spec.template;
  return [
    ...resources(container),
    ...image(container),
    ...rights(container, spec),
    ...variables(container),
    ...references(container, workload, manifest),
  ];
}

function probes(container: Container): readonly string[] {
  const missing = PROBES.filter((probe) => container[probe] === undefined).map((probe) => `has no ${probe}`);
  const { startupProbe, livenessProbe, readinessProbe, ports } = container;
  const same =
    livenessProbe !== undefined && isDeepStrictEqual(livenessProbe, readinessProbe)
      ? ["livenessProbe and readinessProbe ask the same"]
      : [];
  const elsewhere = [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => {
    const port = probe?.httpGet?.port;
    if (port === undefined || ports.some((each) => each.name === port || each.containerPort === port))
      return [];
    return [`a probe asks port ${port}, which it does not have`];
  });
  const leaves =
    // Clients of other protocols detect failures themselves.
    readinessProbe?.httpGet !== undefined && container.lifecycle?.preStop === undefined
      ? ["serves a port and has no preStop"]
      : [];
  return [...missing, ...same, ...new Set(elsewhere), ...leaves];
}

function resources({ resources: { requests, limits } }: Container): readonly string[] {
  return AMOUNTS.flatMap((amount) => [
    ...(requests[amount] === undefined ? [`requests no ${amount}`] : []),
    ...(limits[amount] === undefined ? [`has no limit of ${amount}`] : []),
  ]);
}

function image({ image: text }: Container): readonly string[] {
  if (/@sha256:[0-9a-f]{64}$/.test(text)) return [];
  const [, tag] = /:([\w][\w.-]*)$/.exec(text) ?? [];
  if (tag === undefined) return [`its image ${text} has neither tag nor digest`];
  return tag === "latest" ? [`its image is ${text}`] : [];
}

function rights({ securityContext: own = { capabilities: { drop: [], add: [] } } }: Container, pod: PodSpec) {
  const { drop, add } = own.capabilities;
  const user = own.runAsUser ?? pod.securityContext.runAsUser;
  const isNonRoot = own.runAsNonRoot ?? pod.securityContext.runAsNonRoot;
  return [
    ...(own.readOnlyRootFilesystem === true ? [] : ["its root file system can be written to"]),
    ...(own.allowPrivilegeEscalation === false ? [] : ["its programs may get more rights than it has"]),
    ...(own.privileged === true ? ["is privileged"] : []),
    ...(drop.includes("ALL") ? [] : ["does not drop all capabilities"]),
    ...(add.length === 0 ? [] : [`adds the capabilities ${add.join(", ")}`]),
    ...(isNonRoot === true && user !== undefined && user !== 0 ? [] : ["may run as root"]),
  ];
}

/** No manifest contains a secret, and a variable must come before its references: otherwise they stay literal. */
function variables({ env }: Container): readonly string[] {
  return env.flatMap(({ name, value = "" }, index) => [
    ...(SECRET.test(name) && value !== "" ? [`${name} is a secret and stands in the file`] : []),
    ...[...value.matchAll(/\$\((\w+)\)/g)]
      .map(([, other]) => other)
      .filter((other) => !env.slice(0, index).some((each) => each.name === other))
      .map((other) => `${name} refers to ${other}, which does not stand before it`),
  ]);
}

function references(container: Container, { spec }: Workload, { objects }: Manifest): readonly string[] {
  const volumes = [
    ...spec.template.spec.volumes,
    ...spec.volumeClaimTemplates.map(({ metadata }) => metadata),
  ];
  const isThere = (kind: string, name: string): boolean =>
    objects.some((object) => object.kind === kind && object.metadata.name === name);
  return [
    ...container.volumeMounts
      .filter(({ name }) => !volumes.some((volume) => volume.name === name))
      .map(({ name }) => `mounts ${name}, which is no volume of its pod`),
    ...container.envFrom
      .flatMap(({ configMapRef }) => configMapRef?.name ?? [])
      .filter((name) => !isThere("ConfigMap", name))
      .map((name) => `takes variables from the ConfigMap ${name}, which is not there`),
  ];
}

function standing(pod: PodSpec): readonly string[] {
  const { hostNetwork, hostPID, hostIPC, enableServiceLinks, terminationGracePeriodSeconds } = pod;
  return [
    ...(pod.securityContext.seccompProfile?.type === "RuntimeDefault" ? [] : ["has no seccomp profile"]),
    ...(hostNetwork === true || hostPID === true || hostIPC === true
      ? ["shares a namespace with its node"]
      : []),
    ...pod.volumes
      .filter((volume) => "hostPath" in volume)
      .map(({ name }) => `${name} is a folder of its node`),
    ...(enableServiceLinks === false ? [] : ["gets variables with the names of Services"]),
    ...(terminationGracePeriodSeconds === undefined ? ["does not say how long it takes to end"] : []),
  ];
}

function accounts(pod: PodSpec, { objects }: Manifest): readonly string[] {
  const { serviceAccountName: name, automountServiceAccountToken } = pod;
  const isThere = objects.some(({ kind, metadata }) => kind === "ServiceAccount" && metadata.name === name);
  return [
    ...(automountServiceAccountToken === false ? [] : ["gets a token of the cluster"]),
    ...(name === undefined || isThere ? [] : [`its ServiceAccount ${name} is not there`]),
  ];
}

function spread(workload: Workload): readonly string[] {
  const { topologySpreadConstraints: constraints } = workload.spec.template.spec;
  if (constraints.length === 0) return ["is not spread over nodes"];
  return constraints
    .filter(({ labelSelector }) => !selects(labelSelector, labelsOf(workload)))
    .map(() => "is spread by labels that it does not have");
}

function storage({ kind, spec }: Workload, { objects }: Manifest): readonly string[] {
  const claims = spec.template.spec.volumes.flatMap(
    (volume) => volume.persistentVolumeClaim?.claimName ?? [],
  );
  const missing = claims.filter(
    (claim) => !objects.some((each) => each.kind === "PersistentVolumeClaim" && each.metadata.name === claim),
  );
  const isShared = kind === "Deployment" && claims.length > 0 && spec.strategy?.type !== "Recreate";
  return [
    ...missing.map((claim) => `its volume ${claim} is claimed by nobody`),
    ...(isShared ? ["two of its pods want one volume during an update"] : []),
  ];
}
