// Checks the examples of docs/kubernetes.md.
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { schemaProblems } from "./api-schema.ts";
import { readManifest } from "./manifest.ts";
import { K8S, rendered } from "./overlay.ts";
import { policyProblems } from "./policy.ts";

const page = await readFile(join(K8S, "../docs/kubernetes.md"), "utf8");
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);

function example(pattern: RegExp): string {
  const found = examples.find((text) => pattern.test(text));
  if (found === undefined) throw new Error(`docs/kubernetes.md has no example with ${pattern}`);
  return found;
}

test("the overlay in docs/kubernetes.md can be made, fits the API, keeps the policy and is what it says", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-my-cluster-"));
  const here = relative(folder.path, K8S);
  await writeFile(
    join(folder.path, "kustomization.yaml"),
    example(/kind: Kustomization/).replaceAll("../k8s", here),
  );
  const objects = await rendered(folder.path);
  expect(await schemaProblems(objects)).toEqual([]);
  expect(policyProblems(objects)).toEqual([]);

  const { workloads } = readManifest(objects);
  const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers);
  expect(new Set(containers.map(({ image }) => image))).toEqual(
    new Set(["registry.example.com/ttyhq:0.2.0"]),
  );
  expect(workloads.find(({ kind }) => kind === "StatefulSet")?.spec.replicas).toBe(3);
  const text = JSON.stringify(objects);
  for (const part of [
    '"TTYHQ_LOG_FORMAT":"json","TTYHQ_TRUSTED_PROXY":"192.0.2.10"',
    '"hosts":["term.example.com"]',
    '"cert-manager.io/cluster-issuer":"letsencrypt"',
    '"value":"0.0.0.0:9464"',
    '"value":"https://ttyhq-hq:4020"',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain("ttyhq.example.com");
});

test("the policy that docs/kubernetes.md adds fits the API and selects the remotes", async () => {
  const added: unknown = parse(example(/kind: NetworkPolicy/));
  expect(await schemaProblems([added])).toEqual([]);
  expect(policyProblems([...(await rendered("base")), added])).toEqual([]);
});

test("the BackendTLSPolicy in docs/kubernetes.md fits the API", async () => {
  expect(await schemaProblems([parse(example(/kind: BackendTLSPolicy/))])).toEqual([]);
});
