// The objects that `kubectl apply -k` would send.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { output } from "../containers/docker.ts";

const RENDER_TIMEOUT_MS = 60_000;

export const K8S = fileURLToPath(new URL("../../../k8s/", import.meta.url));

/** The objects of a folder in k8s/, such as `overlays/tls`, or of one elsewhere by its absolute path. */
export async function rendered(folder: string): Promise<readonly unknown[]> {
  const directory = folder.startsWith("/") ? folder : join(K8S, folder);
  const yaml = await output("kubectl", ["kustomize", directory], { timeoutMs: RENDER_TIMEOUT_MS });
  return parseAllDocuments(yaml).map((document) => document.toJS());
}
