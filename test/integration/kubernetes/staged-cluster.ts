import { afterAll, beforeAll, beforeEach } from "vitest";
import { KubernetesCluster, type StartOptions } from "./kubernetes-cluster.ts";

/** A cluster for all tests of a file. Failures include the state of the cluster. */
export function stagedCluster(options: StartOptions = {}): { readonly cluster: KubernetesCluster } {
  let cluster: KubernetesCluster | undefined;
  const started = (): KubernetesCluster => {
    if (cluster === undefined) throw new Error("the cluster has not started");
    return cluster;
  };
  beforeAll(async () => {
    cluster = await KubernetesCluster.start(options);
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => console.error(await started().kubectl.scene()));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  return {
    get cluster() {
      return started();
    },
  };
}
