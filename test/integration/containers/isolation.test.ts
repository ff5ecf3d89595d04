// The attacks of kubernetes/isolation.test.ts on Compose.
import { afterAll, beforeAll } from "vitest";
import { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { testIsolation } from "../harness/isolation.ts";
import { builtImage } from "./built-image.ts";
import { ComposeProject } from "./compose-project.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";

let project: ComposeProject;

beforeAll(async () => {
  await builtImage();
  project = await ComposeProject.start("plain");
}, BUILD_TIMEOUT_MS);
afterAll(async () => await project?.[Symbol.asyncDispose]());

testIsolation(async () => {
  const [remote] = await project.remotes(2);
  return {
    ...{ client: new ServerClient(await project.access()), id: remote?.id ?? "", name: "remote-1" },
    inSessionHost: (script) => project.sh("remote-1-host", script),
    inServer: (script) => project.sh("remote-1", script),
    secrets: () => Promise.all(["hq-password", "join-token"].map((name) => project.secret(name))),
  };
});
