// Programs in a session, and guests who may type, against the credentials of the service.
import { testIsolation } from "../harness/isolation.ts";
import { stagedCluster } from "./staged-cluster.ts";

const REMOTE = "ttyhq-remote-0";
const stage = stagedCluster({ remotes: 1 });

testIsolation(async () => {
  const { client, kubectl } = stage.cluster;
  return {
    ...{ client, id: await stage.cluster.remoteId(REMOTE), name: REMOTE },
    inSessionHost: (script) => kubectl.sh(REMOTE, "session-host", script),
    inServer: (script) => kubectl.sh(REMOTE, "server", script),
    secrets: async () => {
      const path = "jsonpath={range .items[*]}{.data}{'\\n'}{end}";
      return (await kubectl.does("get", "secrets", `--output=${path}`))
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .flatMap((line) => Object.entries<string>(JSON.parse(line)))
        .filter(([name]) => !/username|\.crt$|^namespace$/.test(name))
        .map(([, value]) => Buffer.from(value, "base64").toString("utf8").trim());
    },
  };
});
