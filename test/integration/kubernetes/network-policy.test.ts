import { test } from "vitest";
import { HQ } from "./kubernetes-cluster.ts";
import { addressOf, PodNetwork } from "./pod-network.ts";
import { stagedCluster } from "./staged-cluster.ts";

const DNS_PORT = 53;

const stage = stagedCluster({ remotes: 2 });

test("remotes are reached by the HQ and by nobody else, and reach nothing in the cluster but the HQ", async () => {
  const { cluster } = stage;
  const network = new PodNetwork(cluster);
  const [one = "", other = ""] = (await cluster.remotes()).map(addressOf);
  const hq = await cluster.hq();
  await network.becomes("connected", hq.metadata.name, "hq", one);
  await network.becomes("connected", hq.metadata.name, "hq", other);
  await network.becomes("silence", "ttyhq-remote-1", "server", one);
  await network.becomes("silence", "ttyhq-remote-1", "session-host", one);

  const stranger = await network.joins("stranger");
  await network.joins("another");
  await network.becomes("connected", "stranger", "stranger", addressOf(hq));
  await network.becomes("silence", "stranger", "stranger", one);
  await network.becomes("connected", "another", "another", stranger);
  await network.becomes("silence", "ttyhq-remote-0", "session-host", stranger);
  await network.becomes("silence", hq.metadata.name, "hq", stranger);
  // Nothing listens there: an allowed connection is refused, a forbidden one gets no answer.
  await network.becomes("ECONNREFUSED", "another", "another", stranger, DNS_PORT);
  await network.becomes("silence", "ttyhq-remote-0", "session-host", stranger, DNS_PORT);
  await network.becomes("connected", "ttyhq-remote-0", "session-host", "ttyhq-hq");

  // The labels make the difference.
  await cluster.kubectl.does("label", "pod", "another", HQ, "app.kubernetes.io/name=ttyhq");
  await network.becomes("connected", "another", "another", one);
});
