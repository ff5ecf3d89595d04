import { Cluster } from "./cluster.ts";
import { hasEngine } from "./engine.ts";
import { clusterKind } from "./environment.ts";
import { LocalCluster } from "./local/local-cluster.ts";
import type { TestCluster } from "./machine.ts";

/**
 * Starts an HQ with `remote-1`, `remote-2`, …: as containers if an engine answers, otherwise as processes of this
 * machine. TTYHQ_TEST_CLUSTER overrides this.
 */
export async function startCluster({
  remotes = 2,
}: {
  readonly remotes?: number;
} = {}): Promise<TestCluster> {
  const kind = clusterKind() ?? ((await hasEngine()) ? "containers" : "processes");
  return kind === "containers" ? await Cluster.start({ remotes }) : await LocalCluster.start({ remotes });
}
