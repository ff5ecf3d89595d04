// The actions of a remote's server on a node while people use repositories there.
import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { postToRemote } from "../harness/remote-request.ts";
import { type SystemCall, SystemCallTrace } from "../harness/system-calls.ts";
import { stagedCluster } from "./staged-cluster.ts";

const REMOTE = "ttyhq-remote-0";
const REPOSITORY = "/data/repo";
const stage = stagedCluster({ remotes: 1 });

/** The nodes are this machine, so their processes can be traced. */
const onLab = test.runIf(process.env.TTYHQ_TEST_NODE !== undefined);

onLab("the server's container runs no program and opens nothing but the server's own files", async () => {
  const { client, kubectl } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(REMOTE);
  const pid = await serverOf(kubectl.namespace);
  await using trace = await SystemCallTrace.of(pid);
  const script = [
    `git config --global user.name one; git config --global user.email one@example.com`,
    `git init --quiet ${REPOSITORY} && cd ${REPOSITORY} && git commit --quiet --allow-empty -m one && echo made && cat`,
  ].join("\n");
  using shell = await client.run({ remoteId, command: ["sh", "-c", script], cwd: "/data" });
  await shell.shows(/^made/m);
  const post = (path: string, body: object): Promise<number> => postToRemote(client, REMOTE, path, body);
  expect(await post("api/worktrees", { repoPath: REPOSITORY, branch: "side" })).toBe(201);
  expect(await post("api/worktrees/follow", { repoPath: REPOSITORY, branch: "side", enable: true })).toBe(
    200,
  );
  expect(await post("api/git/event", { repoPath: REPOSITORY })).toBe(200);
  expect(await post("api/worktrees/follow", { repoPath: REPOSITORY, enable: false })).toBe(200);
  const calls = await trace.calls();
  expect(calls.some(({ name }) => name === "openat")).toBe(true);
  expect(calls.filter(({ name }) => name.startsWith("execve"))).toEqual([]);
  expect(opened(calls).filter((path) => !OWN.test(path))).toEqual([]);
});

/** The server's home is the folder that only its container has. */
const OWN = /^\/(?:data\/\.ttyhq|opt\/ttyhq|run\/secrets\/ttyhq|usr|lib|etc|proc|sys|dev|tmp)(?:\/|$)/;

/** Checking the host's socket before connecting reads nothing and follows no link. */
const SOCKET_OPEN = /"[^"]*\/host\.sock", (?=.*O_NOFOLLOW)(?=.*O_PATH)/;

function opened(calls: readonly SystemCall[]): readonly string[] {
  return calls
    .filter(({ text }) => !SOCKET_OPEN.test(text))
    .filter(({ name, text }) => /^(?:open|rename|unlink|mkdir)/.test(name) && text.includes('"'))
    .flatMap(({ text }) => [...text.matchAll(/"(\/[^"]*)"/g)].map(([, path = ""]) => path));
}

/** The process of the server's container, seen from the node. */
async function serverOf(namespace: string): Promise<number> {
  const read = (pid: string, file: string): Promise<string> =>
    readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [words, variables] = await Promise.all([read(pid, "cmdline"), read(pid, "environ")]);
    const isServer = /node\0.*ttyhq\0serve\0--session-host\0external/.test(words);
    if (isServer && variables.split("\0").includes(`NAMESPACE=${namespace}`)) return Number(pid);
  }
  throw new Error("no process of the server's container on this machine");
}
