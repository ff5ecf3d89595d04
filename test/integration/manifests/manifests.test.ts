// The files in k8s/, without a cluster: each overlay builds, fits the API's schemas, and keeps our policy.
import { readdirSync, readFileSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { API_VERSIONS, schemaProblems } from "./api-schema.ts";
import { nameOf, readManifest } from "./manifest.ts";
import { K8S, rendered } from "./overlay.ts";
import { policyProblems } from "./policy.ts";

const PACKAGE = JSON.parse(readFileSync(join(K8S, "../package.json"), "utf8"));
const OVERLAYS = ["base", ...readdirSync(join(K8S, "overlays")).map((name) => `overlays/${name}`)];
/**
 * The tests' cluster uses folders of its node as volumes, which only root can open for others; nothing else runs as
 * root.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "overlays/lab": [
    "Deployment/ttyhq-hq open-volume: may run as root",
    "StatefulSet/ttyhq-remote open-volume: may run as root",
  ],
};

describe.each(OVERLAYS)("k8s/%s", (overlay) => {
  test("fits the API's schemas, to the last field", async () => {
    expect(await schemaProblems(await rendered(overlay))).toEqual([]);
  });

  test("keeps the policy", async () => {
    expect(policyProblems(await rendered(overlay))).toEqual(ALLOWED[overlay] ?? []);
  });
});

/** Each pair appears in both orders. */
const COMPONENTS = [
  "ha",
  "redis-sentinel",
  "tls",
  "ingress",
  "httproute",
  "operator-monitoring",
  "on-delete",
  "autoscale",
  "canary",
];
/** For special versions, nodes or clusters. */
const SPECIAL = ["user-namespaces", "app-armor", "pre-stop-sleep"];
const ALL = [...COMPONENTS, ...SPECIAL];
const ORDERS = [ALL, ALL.toReversed()];

/** The objects of base with these components. */
async function composed(components: readonly string[]): Promise<readonly unknown[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-components-"));
  const here = relative(folder.path, K8S);
  const kustomization = {
    ...{ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources: [`${here}/base`] },
    components: components.map((name) => `${here}/components/${name}`),
  };
  await writeFile(join(folder.path, "kustomization.yaml"), JSON.stringify(kustomization));
  return await rendered(folder.path);
}

/** The same for lists in any order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => JSON.stringify(sorted(each))).toSorted();
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, each]) => [key, sorted(each)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

test("all components together make the same objects in any order, which fit the schemas and keep the policy", async () => {
  const [one = [], other = []] = await Promise.all(ORDERS.map(composed));
  expect(await schemaProblems(one)).toEqual([]);
  expect(policyProblems(one)).toEqual([]);
  // One authority has signed both, and either file contains it.
  const text = (objects: readonly unknown[]): string =>
    JSON.stringify(objects).replaceAll("/run/secrets/ttyhq/redis/ca.crt", "/run/secrets/ttyhq/tls/ca.crt");
  expect(sorted(JSON.parse(text(one)))).toEqual(sorted(JSON.parse(text(other))));
  expect(JSON.stringify(one)).toContain('"nginx.ingress.kubernetes.io/backend-protocol":"HTTPS"');
});

test("the files for every cluster fit the API of the oldest version, too", async () => {
  expect(await schemaProblems(await composed(COMPONENTS), API_VERSIONS.oldest)).toEqual([]);
});

test("newer fields are in components of their own, which change HQ and remotes", async () => {
  const text = JSON.stringify(await composed(SPECIAL));
  expect(text.match(/"hostUsers":false/g)).toHaveLength(2);
  expect(text.match(/"appArmorProfile":\{"type":"RuntimeDefault"\}/g)).toHaveLength(2);
  expect(text).toContain('"preStop":{"sleep":{"seconds":5}}');
});

test("on OpenShift the namespace says which users and groups pods have, and name servers are reached there", async () => {
  const objects = await composed(["ha", "redis-sentinel", "openshift"]);
  expect(await schemaProblems(objects)).toEqual([]);
  const text = JSON.stringify(objects);
  expect(text).not.toMatch(/"(?:runAsUser|runAsGroup|fsGroup)":/);
  expect(text).toContain('"kubernetes.io/metadata.name":"openshift-dns"');
  // No uid is known here; runAsNonRoot excludes root.
  expect(policyProblems(objects)).toEqual(
    [
      "Deployment/ttyhq-hq hq",
      "Deployment/ttyhq-hq await-registry",
      "StatefulSet/ttyhq-redis redis",
      "StatefulSet/ttyhq-redis sentinel",
      "StatefulSet/ttyhq-remote session-host",
      "StatefulSet/ttyhq-remote server",
    ].map((name) => `${name}: may run as root`),
  );
  expect(text.match(/"runAsNonRoot":true/g)).toHaveLength(3);
});

test.each(["autoscale", "keda"])(
  "%s adds remotes and takes none away, and no file sets their number",
  async (name) => {
    const objects = await composed([name]);
    expect(await schemaProblems(objects)).toEqual([]);
    const text = JSON.stringify(objects);
    expect(text).toContain('"scaleDown":{"selectPolicy":"Disabled"}');
    const { objects: read } = readManifest(objects);
    expect(JSON.stringify(read.find((each) => nameOf(each) === "StatefulSet/ttyhq-remote"))).not.toContain(
      '"replicas"',
    );
  },
);

test("two HQs share no volume, are on different nodes, and an update starts one before it stops another", async () => {
  const { objects } = readManifest(await rendered("overlays/ha"));
  expect(objects.filter(({ kind }) => kind === "PersistentVolumeClaim")).toEqual([]);
  const hq = objects.find(({ kind }) => kind === "Deployment");
  expect(hq).toMatchObject({
    spec: {
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        spec: {
          topologySpreadConstraints: [
            {
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "DoNotSchedule",
              matchLabelKeys: ["pod-template-hash"],
              nodeTaintsPolicy: "Honor",
            },
          ],
        },
      },
    },
  });
  const service = objects.find(({ kind, metadata }) => kind === "Service" && metadata.name === "ttyhq-hq");
  expect(JSON.stringify(service)).not.toContain("sessionAffinity");
});

test("the HQ leaves a lost node after half a minute, and its volume may be one pod's alone", async () => {
  const { objects } = readManifest(await composed(["read-write-once-pod"]));
  const found = (name: string) => objects.find((each) => nameOf(each) === name);
  expect(found("Deployment/ttyhq-hq")).toMatchObject({
    spec: {
      template: {
        spec: {
          tolerations: ["not-ready", "unreachable"].map((condition) => ({
            key: `node.kubernetes.io/${condition}`,
            effect: "NoExecute",
            tolerationSeconds: 30,
          })),
        },
      },
    },
  });
  expect(found("PersistentVolumeClaim/ttyhq-hq")).toMatchObject({
    spec: { accessModes: ["ReadWriteOncePod"] },
  });
});

test("the image is of this version, and of the one that tests build in their cluster", async () => {
  const images = async (overlay: string): Promise<ReadonlySet<string>> => {
    const { workloads } = readManifest(await rendered(overlay));
    const containers = workloads.flatMap(({ spec }) => [
      ...spec.template.spec.initContainers,
      ...spec.template.spec.containers,
    ]);
    return new Set(containers.map(({ image }) => image));
  };
  expect(await images("base")).toEqual(new Set([`ttyhq:${PACKAGE.version}`]));
  expect(await images("overlays/lab")).toEqual(new Set(["ttyhq:dev"]));
});

test("the overlay lab has no object in a version that Kubernetes 1.20 does not serve", async () => {
  const versions = new Set(
    readManifest(await rendered("overlays/lab")).objects.map(({ apiVersion }) => apiVersion),
  );
  expect([...versions].sort()).toEqual(["apps/v1", "networking.k8s.io/v1", "policy/v1beta1", "v1"]);
});

test.each(OVERLAYS)(
  "in k8s/%s remotes have the join token, and never the password of the HQ, which takes it from none",
  async (overlay) => {
    const { objects, workloads } = readManifest(await rendered(overlay));
    const [hq, remote] = ["Deployment/ttyhq-hq", "StatefulSet/ttyhq-remote"].map((name) =>
      JSON.stringify(objects.find((each) => nameOf(each) === name)),
    );
    expect(hq).toContain("ttyhq-login");
    expect(remote).toContain("ttyhq-join");
    expect(remote).not.toMatch(/ttyhq-login|PASSWORD/);
    const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers);
    const env = containers.find(({ name }) => name === "hq")?.env ?? [];
    expect(env).toContainEqual(expect.objectContaining({ name: "TTYHQ_NO_BASIC_JOIN", value: "true" }));
  },
);

test("the Prometheus operator gets the alerts that alerts.yaml has, and no copy of them in a ConfigMap", async () => {
  const { objects } = readManifest(await rendered("overlays/operator-monitoring"));
  const rules = objects.find(({ kind }) => kind === "PrometheusRule");
  expect(rules?.spec).toEqual(parse(readFileSync(join(K8S, "monitoring/alerts.yaml"), "utf8")));
  expect(objects.map(({ metadata }) => metadata.name)).not.toContain("ttyhq-alerts");
  expect(objects.find(({ metadata }) => metadata.name === "ttyhq-dashboard")).toMatchObject({
    ...{ kind: "ConfigMap", metadata: { labels: { grafana_dashboard: "1" } } },
  });
});

test("autoscalers leave remotes alone, and a remote that is not ready keeps no node from being emptied", async () => {
  const text = JSON.stringify(await rendered("base"));
  expect(text).toContain('"cluster-autoscaler.kubernetes.io/safe-to-evict":"false"');
  expect(text).toContain('"karpenter.sh/do-not-disrupt":"true"');
  expect(text).toContain('"unhealthyPodEvictionPolicy":"AlwaysAllow"');
});

test("the overlay canary turns the canary of the HQ on, and of no remote", async () => {
  const objects = JSON.stringify(await rendered("overlays/canary"));
  expect(objects.match(/"TTYHQ_CANARY":"true"/g)).toHaveLength(1);
});

test("the overlay on-delete replaces no remote by itself, and the HQ as ever", async () => {
  const objects = JSON.stringify(await rendered("overlays/on-delete"));
  expect(objects).toContain('"updateStrategy":{"type":"OnDelete"}');
  expect(objects).toContain('"strategy":{"type":"Recreate"}');
});

test("the overlay tls lets nothing of the HQ and its remotes speak without encryption", async () => {
  const objects = await rendered("overlays/tls");
  const { workloads } = readManifest(objects);
  const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers);
  const served = containers.filter(({ ports }) => ports.length > 0);
  expect(served.map(({ name }) => name)).toEqual(["hq", "server"]);
  for (const { env, startupProbe, livenessProbe, readinessProbe } of served) {
    const names = env.map(({ name }) => name);
    expect(names).toContain("TTYHQ_TLS_CERT");
    expect(names).not.toContain("TTYHQ_ALLOW_INSECURE_HQ");
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
      expect(probe?.httpGet?.scheme).toBe("HTTPS");
    }
  }
  expect(JSON.stringify(objects)).not.toMatch(/http:\/\/(?!www\.)/);
});
