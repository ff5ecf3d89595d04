import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import type { Client } from "../../../src/protocol/client/client.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { builtImage, IMAGE, ROOT } from "./built-image.ts";
import { ComposeProject, type Flavour } from "./compose-project.ts";
import { BUILD_TIMEOUT_MS, output } from "./docker.ts";

const FLAVOURS: readonly Flavour[] = ["plain", "tls"];
const MAX_RECORDING_BYTES = 1_000_000;

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

test.concurrent.each(FLAVOURS)(
  "`docker compose up --wait` ends with an HQ and two remotes that run programs, %s",
  async (flavour) => {
    await using project = await ComposeProject.start(flavour);
    const remotes = await project.remotes(2);
    expect(remotes.map(({ name }) => name)).toEqual(["remote-1", "remote-2"]);
    const client = await project.client();
    for (const [at, { id }] of remotes.entries()) {
      expect(await said(client, id, "hostname")).toContain(project.remote(at + 1));
      expect(await said(client, id, "pwd -P")).toContain("/data");
      expect(await said(client, id, "ls /run/secrets")).not.toContain("hq-password");
    }
  },
);

test.concurrent("every container has limits, session hosts have no secret, and remotes share nothing", async () => {
  const services = Object.entries(await ComposeProject.services());
  expect(services).toHaveLength(10);
  const places = new Map<string, string[]>();
  for (const [name, { pids_limit: pids, mem_limit: memory, secrets, volumes }] of services) {
    expect([pids, Number(memory)]).toEqual([4096, (name.endsWith("-host") ? 4 : 1) * 2 ** 30]);
    if (name.endsWith("-host")) expect(secrets).toEqual([]);
    for (const { source } of volumes) places.set(source, [...(places.get(source) ?? []), name]);
  }
  // The folder of the socket, in a remote's two containers.
  const common = [...places].filter(([, names]) => names.length > 1);
  expect(common.map(([volume, names]) => [volume, names.toSorted()])).toEqual(
    common.map(([volume]) => [volume, [volume.replace("-socket", ""), volume.replace("-socket", "-host")]]),
  );
  expect(common).toHaveLength(4);
});

test.concurrent("init.sh builds the image again unless another one is named that is there", async () => {
  await using checkout = await mkdtempDisposable(join(tmpdir(), "ttyhq-checkout-"));
  const folder = join(checkout.path, "docker/compose");
  await mkdir(folder, { recursive: true });
  await copyFile(join(ROOT, "docker/compose/init.sh"), join(folder, "init.sh"));
  const builds = join(checkout.path, "builds");
  await writeFile(join(checkout.path, "docker/build.sh"), `#!/bin/sh\necho "$IMAGE" >>'${builds}'\n`, {
    mode: 0o755,
  });
  for (const image of ["", "", IMAGE, "ttyhq:nowhere"]) {
    await output("sh", [join(folder, "init.sh")], { env: { TTYHQ_IMAGE: image } });
  }
  expect((await readFile(builds, "utf8")).trim().split("\n")).toEqual([
    "ttyhq:dev",
    "ttyhq:dev",
    "ttyhq:nowhere",
  ]);
});

test.concurrent("remotes come and go, and come back as who they were", async () => {
  await using project = await ComposeProject.start("plain");
  const [first, second] = await project.remotes(2);
  const { id } = await (await project.client()).create({ command: ["true"], remoteId: second?.id });

  await project.setRemotes(3);
  await project.up();
  expect((await project.remotes(3)).map(({ name }) => name)).toEqual(["remote-1", "remote-2", "remote-3"]);

  await project.setRemotes(2);
  await project.up("--remove-orphans");
  expect((await project.remotes(2)).map(({ name }) => name)).toEqual(["remote-1", "remote-2"]);

  // Containers are new, their data is not.
  await project.down();
  await project.up();
  expect((await project.remotes(2)).map((remote) => remote.id)).toEqual([first?.id, second?.id]);
  expect(await (await project.client()).get(id)).toMatchObject({ source: "remote-2", status: "exited" });
});

/** The output of a shell script on a remote. */
async function said(client: Client, remoteId: string, script: string): Promise<string> {
  const { id } = await client.create({ command: ["sh", "-c", script], remoteId });
  const recording = await client.recording(id, { follow: true }, AbortSignal.timeout(PATIENCE_MS));
  return new TextDecoder().decode(await collectBytes(recording, MAX_RECORDING_BYTES));
}
