// A namespace that has lost its secrets, its pods and its volumes, and its recovery with k8s/backup and k8s/restore.
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { ROOT } from "../containers/built-image.ts";
import { output } from "../containers/docker.ts";
import { ask } from "../harness/http.ts";
import { CHANGE_TIMEOUT_MS } from "./kubectl.ts";
import { stagedCluster } from "./staged-cluster.ts";

const REMOTE = "ttyhq-remote-0";
const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };

const stage = stagedCluster({ remotes: 1 });

/** An old login of the HQ works, regardless of the tests' current client. */
async function statusFor(url: string, token: string): Promise<number> {
  const { status } = await ask(url, "/api/sessions", { headers: { authorization: `Bearer ${token}` } });
  return status;
}

test("without secrets, pods and volumes: a backup brings back sessions and recordings, files, logins, and who the remotes are", async () => {
  const { cluster } = stage;
  const { client, kubectl } = cluster;
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-backup-"));
  const backup = join(folder.path, "backup");
  const script = (name: string): Promise<string> =>
    output(join(ROOT, "k8s", name), [backup, kubectl.namespace], LIMITS);
  const remoteId = await cluster.remoteId(REMOTE);
  using over = await client.run({
    remoteId,
    command: ["sh", "-c", "echo kept >/data/file; echo over; exit 3"],
  });
  await over.ended(LIMITS);
  using running = await client.run({ remoteId, command: ["sh", "-c", "printf begun; exec sleep infinity"] });
  await running.shows(/^begun$/m);
  // Answered when everything so far is on the disk, which viewers do not wait for.
  const recording = { params: { id: running.sessionId }, query: { follow: "0" } } as const;
  await client.api.bytes(endpoints.sessionRecording, recording);
  const { access } = client;
  const { credentials: body } = access;
  const { token } = (await ask(access.url, "/api/auth/token", { body })).json;
  expect(await statusFor(access.url, token)).toBe(200);

  await script("backup");
  expect((await readdir(backup)).toSorted()).toEqual([
    ...["hq.tar.gz", "secrets.yaml", `${REMOTE}.server.tar.gz`, `${REMOTE}.session-host.tar.gz`],
  ]);
  await kubectl.does("delete", "--filename", join(backup, "secrets.yaml"));
  await kubectl.awaits("delete", "deployment,statefulset,pod,pvc", "--all", "--grace-period=1");

  await kubectl.does("apply", "--filename", join(backup, "secrets.yaml"));
  await cluster.apply();
  await script("restore");
  await cluster.lists([REMOTE]);
  expect(await cluster.remoteId(REMOTE)).toBe(remoteId);
  expect(await statusFor(access.url, token)).toBe(200);
  const records = await cluster.eventually(async () => {
    const sessions = await client.api.list();
    return sessions.length === 2 ? sessions : undefined;
  }, "the list of sessions");
  const byId = new Map(records.map((record) => [record.id, record]));
  expect(byId.get(over.sessionId)).toMatchObject({ status: "exited", exitCode: 3, exitReason: "exit" });
  expect(byId.get(running.sessionId)).toMatchObject({ status: "exited", exitReason: "host_lost" });
  for (const { sessionId: id, bytes } of [over, running]) {
    const stored = await client.api.bytes(endpoints.sessionOutput, { params: { id } });
    expect(Buffer.compare(stored, bytes)).toBe(0);
  }
  using next = await client.run({
    remoteId,
    command: ["sh", "-c", "test ! -e /data/.restoring && cat /data/file"],
  });
  await next.shows(/^kept$/m);
});
