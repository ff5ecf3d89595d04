// The Sentinels of the component redis-sentinel.
import type { KubernetesCluster } from "./kubernetes-cluster.ts";

export const [FIRST_REDIS, ...OTHER_REDIS] = ["ttyhq-redis-0", "ttyhq-redis-1", "ttyhq-redis-2"] as const;
const CLI =
  'REDISCLI_AUTH=$(sed -n "s/^requirepass //p" /run/secrets/redis/peers/sentinel-login.conf) ' +
  "redis-cli -p 26379 --tls --cacert /run/secrets/redis/tls/ca.crt";

export function askSentinel({ kubectl }: KubernetesCluster, pod: string, command: string): Promise<string> {
  return kubectl.sh(pod, "sentinel", `${CLI} SENTINEL ${command}`);
}

/** The primary's pod according to this one's Sentinel. */
export async function primaryBy(cluster: KubernetesCluster, pod: string): Promise<string | undefined> {
  return /^ttyhq-redis-\d/.exec(await askSentinel(cluster, pod, "GET-MASTER-ADDR-BY-NAME ttyhq"))?.[0];
}

/** Resolves when that Sentinel knows the other two, and two replicas that are connected to their primary. */
export function knowsAll(cluster: KubernetesCluster, pod: string): Promise<true> {
  const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  return cluster.eventually(async () => {
    const [others, replicas] = await Promise.all([
      askSentinel(cluster, pod, "SENTINELS ttyhq"),
      askSentinel(cluster, pod, "REPLICAS ttyhq"),
    ]);
    const isAll =
      count(others, /^flags\nsentinel$/gm) === 2 && count(replicas, /^master-link-status\nok$/gm) === 2;
    return isAll || undefined;
  }, `three Sentinels and two replicas in the eyes of ${pod}`);
}
