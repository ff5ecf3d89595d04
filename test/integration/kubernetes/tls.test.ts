import { expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { answers } from "../cluster/shell.ts";
import { stagedCluster } from "./staged-cluster.ts";

const stage = stagedCluster({ remotes: 2, hasTls: true });

test("with the component tls people, HQ and remotes speak TLS with each other, by certificates that they check", async () => {
  const { client } = stage.cluster;
  expect(client.access.url).toMatch(/^https:/);
  for (const { name, url, id } of await client.api.call(endpoints.listRemotes)) {
    expect(url).toBe(`https://${name}.ttyhq-remote.${stage.cluster.kubectl.namespace}.svc:4020`);
    using shell = await client.run({ remoteId: id, command: ["sh"] });
    await answers(shell, 42);
  }
});
