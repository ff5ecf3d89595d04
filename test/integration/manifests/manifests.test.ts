// The files in k8s/, without a cluster: each overlay can be made, fits the API's schemas, and keeps our policy.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { schemaProblems } from "./api-schema.ts";
import { readManifest } from "./manifest.ts";
import { K8S, rendered } from "./overlay.ts";
import { policyProblems } from "./policy.ts";

const PACKAGE = JSON.parse(readFileSync(join(K8S, "../package.json"), "utf8"));
const OVERLAYS = ["base", ...readdirSync(join(K8S, "overlays")).map((name) => `overlays/${name}`)];
/** The tests' cluster has folders of its node for volumes, which root alone can open for others; it runs nothing else so. */
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
    const [hq, remote] = ["Deployment", "StatefulSet"].map((kind) =>
      JSON.stringify(objects.find((each) => each.kind === kind)),
    );
    expect(hq).toContain("ttyhq-login");
    expect(remote).toContain("ttyhq-join");
    expect(remote).not.toMatch(/ttyhq-login|PASSWORD/);
    const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers);
    const env = containers.find(({ name }) => name === "hq")?.env ?? [];
    expect(env).toContainEqual(expect.objectContaining({ name: "TTYHQ_NO_BASIC_JOIN", value: "true" }));
  },
);

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
