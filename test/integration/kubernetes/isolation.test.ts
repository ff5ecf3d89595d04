// Programs in a session, and guests who may type, against the credentials of the service.
import { expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints.ts";
import { ServerClient } from "../../../src/testing/server-client.ts";
import { BREAK_OUT, BROKEN_OUT, REPOSITORY, typed } from "../harness/break-out.ts";
import { stagedCluster } from "./staged-cluster.ts";

const REMOTE = "ttyhq-remote-0";
const stage = stagedCluster({ remotes: 1 });

test("a program in a session gets no credential and leaves the audit log as it is", async () => {
  const { client } = stage.cluster;
  const before = await auditLog();
  const remoteId = await stage.cluster.remoteId(REMOTE);
  using shell = await client.run({ remoteId, command: ["sh", "-c", BREAK_OUT] });
  await shell.shows(BROKEN_OUT, { withScrollback: true });
  await useRepository();
  await expectNothingTaken(before, "trap-clean", "trap-post-checkout");
});

test("nor does a guest with a link to type", async () => {
  const { client } = stage.cluster;
  const before = await auditLog();
  const remoteId = await stage.cluster.remoteId(REMOTE);
  using shell = await client.run({ remoteId, command: ["sh"] });
  await shell.type("rm -rf ~/loot ~/repo ~/repo-*; echo clean''ed\r");
  await shell.shows(/cleaned/);
  const { token } = await client.api.call(endpoints.createShare, {
    params: { id: shell.sessionId },
    body: { mode: "type" },
  });
  using guest = new ServerClient({ ...client.access, credentials: { token } });
  using screen = await guest.attach(shell.sessionId);
  for (const line of typed(BREAK_OUT)) await screen.type(line);
  await screen.shows(BROKEN_OUT, { withScrollback: true });
  await useRepository();
  await expectNothingTaken(before, "trap-clean", "trap-post-checkout");
});

test("links in the folder that both containers share lead the server nowhere", async () => {
  const before = await auditLog();
  const shared = "/run/ttyhq-host";
  const { kubectl } = stage.cluster;
  const script = `cd ${shared} && mv private was && ln -s /data/.ttyhq private && ls -la && ls -la private/`;
  const seen = await kubectl.sh(REMOTE, "session-host", `${script} 2>&1; true`);
  expect(seen).not.toContain("audit.log");
  await kubectl.sh(REMOTE, "session-host", `cd ${shared} && rm private && mv was private`);
  expect((await auditLog()).startsWith(before)).toBe(true);
});

/** Everything that runs git in what the session has made. */
async function useRepository(): Promise<void> {
  const { api } = stage.cluster.client;
  const call = async (path: string, body?: object): Promise<void> => {
    const params = { name: REMOTE, path };
    await (body === undefined
      ? api.bytes(endpoints.proxyGet, { params })
      : api.bytes(endpoints.proxyPost, { params, body })
    ).catch(() => undefined);
  };
  await call("api/worktrees", { repoPath: REPOSITORY, branch: `through-the-hq-${Date.now()}` });
  await call("api/git/event", { repoPath: REPOSITORY });
}

async function expectNothingTaken(auditLogBefore: string, ...traps: readonly string[]): Promise<void> {
  const { kubectl } = stage.cluster;
  const loot = await kubectl.sh(REMOTE, "session-host", "cd ~/loot && ls && cat *");
  // They did run, where they can do no harm.
  for (const trap of traps) expect(loot).toContain(trap);
  for (const secret of await secrets()) expect(loot).not.toContain(secret);
  const after = await auditLog();
  expect(auditLogBefore.length).toBeGreaterThan(0);
  expect(after.startsWith(auditLogBefore)).toBe(true);
}

/** Those that the service has in this namespace, and in the server's container. */
async function secrets(): Promise<readonly string[]> {
  const { kubectl } = stage.cluster;
  const ofCluster = await kubectl.does(
    "get",
    "secrets",
    "--output=jsonpath={range .items[*]}{.data}{'\\n'}{end}",
  );
  const values = ofCluster
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .flatMap((line) => Object.entries<string>(JSON.parse(line)))
    .filter(([name]) => !/username|\.crt$|^namespace$/.test(name))
    .map(([, value]) => Buffer.from(value, "base64").toString("utf8").trim());
  const own = await kubectl.sh(REMOTE, "server", "cat ~/.ttyhq/jwt-secret; echo; cat ~/.ttyhq/*.json");
  const found = [...values, ...own.split(/[\s",:{}]+/)].filter((text) => text.length >= 24);
  expect(found.length).toBeGreaterThan(3);
  return found;
}

function auditLog(): Promise<string> {
  return stage.cluster.kubectl.sh(REMOTE, "server", "cat ~/.ttyhq/audit.log");
}
