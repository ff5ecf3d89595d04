// The preStop commands of a remote's containers in k8s/base, run on a real server.
import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { MAIN, TestServer } from "../harness/test-server.ts";
import { readManifest } from "./manifest.ts";
import { rendered } from "./overlay.ts";

const PreStop = z.object({ exec: z.object({ command: z.array(z.string()) }) });
const COMMAND_TIMEOUT_MS = 60_000;

const objects = await rendered("base");
const { workloads } = readManifest(objects);
const pod = workloads.find(({ kind }) => kind === "StatefulSet")?.spec.template.spec;

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ asProcess: true });
});
afterEach(() => server[Symbol.asyncDispose]());

/** Resolves when the command of that container has ended with 0. */
async function preStop(container: "session-host" | "server", drainSeconds: number): Promise<void> {
  const { lifecycle } = pod?.containers.find(({ name }) => name === container) ?? {};
  const [file = "", ...args] = PreStop.parse(lifecycle?.preStop).exec.command;
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-pre-stop-"));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  await writeFile(join(folder.path, "ttyhq"), script, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${folder.path}:${process.env.PATH}`,
    DRAIN_SECONDS: `${drainSeconds}`,
    TTYHQ_CONTROL_DIR: server.controlDir,
  };
  await promisify(execFile)(file, args, { env, timeout: COMMAND_TIMEOUT_MS });
}

test("the session host is not stopped before programs that end in time have ended", async () => {
  const client = server.client();
  const { id } = await client.create({ command: ["sleep", "3"] });
  await preStop("session-host", 50);
  expect(await client.get(id)).toMatchObject({ status: "exited", exitCode: 0 });
});

test("the session host is stopped when its programs had their time", async () => {
  const client = server.client();
  const { id } = await client.create({ command: ["cat"] });
  await preStop("session-host", 1);
  expect(await client.get(id)).toMatchObject({ status: "running" });
});

test("the server starts no new sessions before it stops, and does so again after a restart", async () => {
  // One second of waiting for the session host, which does not stop here.
  await preStop("server", -14);
  expect((await server.client().health()).cordoned).toBe(true);
  await server.restart();
  expect((await server.client().health()).cordoned).toBeUndefined();
});

test("the pod has the time to wait for programs, and 50 s more to end", () => {
  const settings = z.object({ data: z.object({ DRAIN_SECONDS: z.coerce.number() }) });
  const map = objects.map((object) => settings.safeParse(object).data).find((each) => each !== undefined);
  const seconds = map?.data.DRAIN_SECONDS ?? Number.NaN;
  expect(pod?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(seconds + 50);
});
