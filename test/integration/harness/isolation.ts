// The attacks of break-out.ts on one remote of an HQ, in any container runtime.
import { expect, test } from "vitest";
import { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { BREAK_OUT, BROKEN_OUT, REPOSITORY, typed } from "./break-out.ts";
import { postToRemote } from "./remote-request.ts";

/** A remote and its containers. */
export type Isolated = {
  readonly client: ServerClient;
  /** Of the remote. */
  readonly id: string;
  readonly name: string;
  /** The output of a shell script in one of its containers. */
  inSessionHost(script: string): Promise<string>;
  inServer(script: string): Promise<string>;
  /** Secrets of the service outside the server's home. */
  secrets(): Promise<readonly string[]>;
};

/** The places of a remote's secrets. */
const SERVER_FILES =
  "cat ~/.ttyhq/jwt-secret 2>/dev/null; echo; cat ~/.ttyhq/*.json ~/.ttyhq/remote-* 2>/dev/null; true";
const MIN_SECRET_LENGTH = 24;

export function testIsolation(open: () => Promise<Isolated>): void {
  test("a program in a session gets no credential and leaves the audit log as it is", async () => {
    const remote = await open();
    const before = await auditLog(remote);
    using shell = await remote.client.run({ remoteId: remote.id, command: ["sh", "-c", BREAK_OUT] });
    await shell.until(() => BROKEN_OUT.exec(shell.screenWithScrollback) ?? undefined, "the loot");
    expect(await useRepository(remote)).toEqual([201, 200]);
    await expectNothingTaken(remote, before);
  });

  test("nor does a guest with a link to type", async () => {
    const remote = await open();
    const before = await auditLog(remote);
    using shell = await remote.client.run({ remoteId: remote.id, command: ["sh"] });
    await shell.type("rm -rf ~/loot ~/repo ~/repo-*; echo clean''ed\r");
    await shell.shows(/^cleaned/m);
    const { token } = await remote.client.api.call(endpoints.createShare, {
      params: { id: shell.sessionId },
      body: { mode: "type" },
    });
    using guest = new ServerClient({ ...remote.client.access, credentials: { token } });
    using screen = await guest.attach(shell.sessionId);
    for (const line of typed(BREAK_OUT)) await screen.type(line);
    await screen.shows(BROKEN_OUT, { withScrollback: true });
    expect(await useRepository(remote)).toEqual([201, 200]);
    await expectNothingTaken(remote, before);
  });

  test("links in the folder that both containers share lead the server nowhere", async () => {
    const remote = await open();
    const before = await auditLog(remote);
    const swap =
      "cd /run/ttyhq-host && mv private was && ln -s /data/.ttyhq private && ls -la private/ 2>&1; true";
    expect(await remote.inSessionHost(swap)).not.toContain("audit.log");
    await useRepository(remote);
    await remote.inSessionHost("cd /run/ttyhq-host && rm private && mv was private");
    expect((await auditLog(remote)).startsWith(before)).toBe(true);
  });
}

/** The statuses of all requests that run git in the session's repositories. */
async function useRepository({ client, name }: Isolated): Promise<readonly number[]> {
  const post = (path: string, body: object): Promise<number> => postToRemote(client, name, path, body);
  const branch = `through-the-hq-${Date.now()}`;
  return [
    await post("api/worktrees", { repoPath: REPOSITORY, branch }),
    await post("api/git/event", { repoPath: REPOSITORY }),
  ];
}

async function expectNothingTaken(remote: Isolated, auditLogBefore: string): Promise<void> {
  const loot = await remote.inSessionHost("cd ~/loot && ls && cat *");
  // The traps did run, where they can do no harm.
  for (const trap of ["trap-clean", "trap-post-checkout"]) expect(loot).toContain(trap);
  const own = (await remote.inServer(SERVER_FILES)).split(/[\s",:{}]+/);
  const secrets = [...(await remote.secrets()), ...own].filter((text) => text.length >= MIN_SECRET_LENGTH);
  expect(secrets.length).toBeGreaterThan(2);
  for (const secret of secrets) expect(loot).not.toContain(secret);
  const after = await auditLog(remote);
  expect(auditLogBefore.length).toBeGreaterThan(0);
  expect(after.startsWith(auditLogBefore)).toBe(true);
}

function auditLog(remote: Isolated): Promise<string> {
  return remote.inServer("cat ~/.ttyhq/audit.log");
}
