// From nothing to sessions, by the project's own files.
import { randomBytes } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../containers/built-image.ts";
import { output } from "../containers/docker.ts";
import { Kubectl } from "./kubectl.ts";
import { isLab } from "./overlay.ts";
import { stagedCluster } from "./staged-cluster.ts";

/** Overlays without kinds that a cluster may lack. */
const OVERLAYS = [
  "base",
  ...["tls", "ha", "ha-sentinel", "canary", "on-delete", "ingress", "monitoring"].map(
    (name) => `overlays/${name}`,
  ),
];
const stage = stagedCluster({ remotes: 2 });

test("each remote runs sessions, which are begun and used at the HQ", async () => {
  const { client } = stage.cluster;
  expect(await client.api.health()).toMatchObject({ mode: "hq", remotes: 2 });
  for (const { metadata } of await stage.cluster.remotes()) {
    const remoteId = await stage.cluster.remoteId(metadata.name);
    using shell = await client.run({ remoteId, command: ["sh"] });
    await shell.type('hostname; pwd -P; touch "$PWD/kept" && echo kept; id -u; echo $((6 * 7))\r');
    await shell.shows(new RegExp(`^${metadata.name}\n/data\nkept\n10001\n42$`, "m"));
    expect(await client.api.get(shell.sessionId)).toMatchObject({ source: metadata.name });
  }
});

test("programs in a session see neither the server's process nor the login of the HQ", async () => {
  const remoteId = await stage.cluster.remoteId("ttyhq-remote-0");
  using shell = await stage.cluster.client.run({ remoteId, command: ["sh"], cols: 200 });
  await shell.type(
    "ls /run/secrets/ttyhq; env | grep -ci password; pgrep -fc 'ttyhq[ ]serve'; echo $((6 * 7))\r",
  );
  await shell.shows(/cannot access '\/run\/secrets\/ttyhq'.*\n0\n0\n42$/m);
});

test("secrets are made in the cluster, once, and stand in no file", async () => {
  const { kubectl } = stage.cluster;
  const names = "jsonpath={.data.password}{' '}{.data.username}";
  const read = (): Promise<string> => kubectl.does("get", "secret", "ttyhq-login", `--output=${names}`);
  const made = await read();
  await output(join(ROOT, "k8s/make-secrets"), [kubectl.namespace]);
  expect(await read()).toBe(made);
  const password = Buffer.from(made.split(" ")[0] ?? "", "base64").toString("utf8");
  expect(password.length).toBeGreaterThan(30);
  for (const overlay of [...OVERLAYS, "overlays/lab", "monitoring"]) {
    const files = await kubectl.does("kustomize", join(ROOT, "k8s", overlay));
    expect(files).not.toMatch(/^kind: Secret$/m);
    expect(files).not.toContain(password);
  }
  const token = await kubectl.does("get", "secret", "ttyhq-join", "--output=jsonpath={.data.join-token}");
  expect(Buffer.from(token, "base64").length).toBeGreaterThanOrEqual(32);
  const config = await kubectl.does("get", "configmaps,deployments,statefulsets,pods", "--output=yaml");
  expect(config).not.toContain(password);
});

test.each(OVERLAYS)("the API server accepts %s", async (overlay) => {
  const kubectl = new Kubectl(`ttyhq-test-${randomBytes(4).toString("hex")}`);
  await kubectl.does("create", "namespace", kubectl.namespace);
  try {
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-k8s-"));
    const kustomization = {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      namespace: kubectl.namespace,
      resources: [relative(folder.path, join(ROOT, "k8s", overlay))],
      components: (await isLab(kubectl)) ? [relative(folder.path, join(ROOT, "k8s/components/lab"))] : [],
    };
    await writeFile(join(folder.path, "kustomization.yaml"), JSON.stringify(kustomization));
    const flags = ["--server-side", "--dry-run=server", "--field-manager=ttyhq-test"];
    const accepted = await kubectl.does("apply", ...flags, "--kustomize", folder.path);
    expect(accepted).toContain("statefulset.apps/ttyhq-remote serverside-applied (server dry run)");
  } finally {
    await kubectl.does("delete", "namespace", kubectl.namespace, "--wait=false");
  }
});
