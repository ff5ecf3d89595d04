// The kit on real containers: it starts them, breaks them on request, and leaves nothing behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import { ServiceContainer } from "../../../packages/testing/src/container.ts";
import { engine, removeLeftovers } from "../../../packages/testing/src/engine.ts";
import { imageName } from "../../../packages/testing/src/environment.ts";
import { OWNER_LABEL, ownName } from "../../../packages/testing/src/owner.ts";
import type { StartedService } from "../../../packages/testing/src/started.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { docker } from "../containers/docker.ts";

const ABANDONED = fileURLToPath(new URL("abandoned-container.ts", import.meta.url));

/** An owner's networks and containers on the engine. */
async function possessions(owner: string): Promise<number> {
  const { dockerode } = (await engine()).container;
  const filters = { label: [`${OWNER_LABEL}=${owner}`] };
  const containers = await dockerode.listContainers({ all: true, filters });
  return containers.length + (await dockerode.listNetworks({ filters })).length;
}

/** Another run, which starts at the same time, may have begun the removal that this one leaves to it. */
async function hasNothing(owner: string): Promise<void> {
  await eventually(async () => (await possessions(owner)) === 0 || undefined, `the end of ${owner}'s things`);
}

function open(name: string): Promise<StartedService> {
  return new ServiceContainer().withName(name).withArgs("--no-auth").start();
}

test("clusters stand side by side, each with its own remotes, and leave nothing", async () => {
  {
    await using one = await Cluster.start({ remotes: 2 });
    await using other = await Cluster.start({ remotes: ["remote-1"], hqArgs: ["--hq-sessions"] });
    const counts = await Promise.all([one, other].map(async ({ hq }) => (await hq.health()).remotes));
    expect(counts).toEqual([2, 1]);
    using client = await other.client();
    using terminal = await client.run({ command: ["cat", "/etc/hostname"], remoteId: "local" });
    await terminal.ended();
    using direct = await other.remote("remote-1").client();
    expect(await direct.api.list()).toEqual([]);
  }
  expect(await possessions(ownName())).toBe(0);
});

test("a server that cannot start says why, and leaves nothing", async () => {
  const starting = new ServiceContainer().withName("wrong").withArgs("--port", "none").start();
  await expect(starting).rejects.toThrow(
    /^wrong ended before it answered\nlast lines of wrong:\n[\s\S]*--port/,
  );
  expect(await possessions(ownName())).toBe(0);
});

test("a container that ends at once says why, and leaves nothing", async () => {
  const starting = new ServiceContainer().withName("brief").withEnvironment({ HOME: "/opt/home" }).start();
  await expect(starting).rejects.toThrow(
    /^brief ended before it answered\nlast lines of brief:\n[\s\S]*cannot write to \/opt\/home/,
  );
  expect(await possessions(ownName())).toBe(0);
});

test("a server keeps its address and its sessions' records over an outage of its machine", async () => {
  await using server = await open("box");
  using client = await server.client();
  const { url } = server;
  using terminal = await client.run({ command: ["sh"] });
  await terminal.type("echo $((6 * 7))\r");
  await terminal.shows(/42$/m);
  await server.kill();
  await server.start();
  expect(server.url).toBe(url);
  const record = await client.api.get(terminal.sessionId);
  expect(record).toMatchObject({ status: "exited", exitReason: "host_lost" });
  await server.restart();
  expect((await client.api.list()).map(({ id }) => id)).toEqual([terminal.sessionId]);
  const starts = (): number => server.log.match(/server listening/g)?.length ?? 0;
  await eventually(async () => starts() >= 3 || undefined, "the log of the third start");
  expect(starts()).toBe(3);
});

test("a killed server is restarted with its sessions running", async () => {
  await using server = await open("box");
  using client = await server.client();
  using terminal = await client.run({ command: ["sh"] });
  await terminal.shows("$");
  const before = await server.health();
  await server.killServer();
  await server.ready();
  await terminal.until(() => (terminal.reconnects > 0 ? true : undefined), "the reconnect");
  await terminal.connected();
  await terminal.type("echo $((6 * 7))\r");
  await terminal.shows(/42$/m);
  expect((await server.health()).instanceId).not.toBe(before.instanceId);
});

test("a paused server does not answer until it is resumed, and can be removed", async () => {
  await using server = await open("box");
  await server.pause();
  await expect(server.ready({ timeoutMs: 500 })).rejects.toThrow(
    "an answer of box did not come within 500 ms",
  );
  await server.unpause();
  await server.ready();
  await server.pause();
});

test("only a place to write is written to", async () => {
  await using server = await open("box");
  const script = "touch /tmp/a /data/a && ! touch /usr/a";
  expect(await server.exec(["sh", "-c", script])).toMatchObject({ exitCode: 0 });
});

test("leftovers of a killed test run are removed by the next one", async () => {
  const run = spawn(process.execPath, [ABANDONED], { stdio: ["ignore", "pipe", "inherit"] });
  const [owner] = await once(createInterface({ input: run.stdout }), "line");
  expect(await possessions(owner)).toBe(1);
  await removeLeftovers();
  expect(await possessions(owner)).toBe(1);
  run.kill("SIGKILL");
  await once(run, "exit");
  await removeLeftovers();
  await hasNothing(owner);
});

test("a network of a killed test run stays while somebody else's container is in it, and stops no other run", async () => {
  await using stack = new AsyncDisposableStack();
  // Alive until the container is in the network: other runs remove empty networks of killed ones.
  const killed = spawn("sleep", ["infinity"], { stdio: "ignore" });
  stack.defer(() => void killed.kill("SIGKILL"));
  const owner = ownName().replace(/\d+$/, `${killed.pid}`);
  const name = `ttyhq-killed-${killed.pid}`;
  await docker("network", "create", "--label", `${OWNER_LABEL}=${owner}`, name);
  stack.defer(() => docker("network", "rm", "--force", name).then(() => undefined));
  const id = await docker("run", "--detach", "--network", name, "--entrypoint", "sleep", imageName(), "600");
  stack.defer(() => docker("rm", "--force", "--volumes", id).then(() => undefined));
  killed.kill("SIGKILL");
  await once(killed, "exit");
  await removeLeftovers();
  expect(await possessions(owner)).toBe(1);
  await docker("rm", "--force", "--volumes", id);
  await removeLeftovers();
  await hasNothing(owner);
});
