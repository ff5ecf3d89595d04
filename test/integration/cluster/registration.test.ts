// The members of an HQ: machines that join, are refused, and return; an HQ that restarts.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import { ServiceContainer } from "../../../packages/testing/src/container.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import type { StartedService } from "../../../packages/testing/src/started.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { bestTime } from "../harness/best-time.ts";
import { knownMachine, machineOf } from "./known-machine.ts";
import { answers } from "./shell.ts";

const HQ_URL = "http://hq:4020";
/** From the moment when its server listens. */
const RETURN_MS = 2_000;
/** From the death of the server to an answer of the session, through the HQ. */
const RESUMPTION_MS = 5_000;

// Starting clusters takes most CPU time of these tests.
vi.setConfig({ maxConcurrency: 2 });

/** For the tests that do not change its HQ. */
let steady: Cluster;
let client: ServerClient;
beforeAll(async () => {
  await builtImage();
  steady = await Cluster.start({ remotes: ["box", "spare"] });
  client = await steady.client();
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  client[Symbol.dispose]();
  await steady[Symbol.asyncDispose]();
});

/** Another machine that tries to join. */
function stranger(name: string, login = steady.login): ServiceContainer {
  return new ServiceContainer()
    .withName(name)
    .asRemote({ ...login, hqUrl: HQ_URL })
    .withNetwork(steady.network);
}

function logs(service: StartedService, text: string | RegExp): Promise<true> {
  const check = async (): Promise<true | undefined> => service.log.search(text) >= 0 || undefined;
  return eventually(check, `${text} in the log`, {}, () => service.scene);
}

/** The times when a service logged the message, in ms since the epoch: once for each of its starts. */
function logged({ log }: StartedService, message: string): readonly number[] {
  return [...log.matchAll(new RegExp(`^(\\S+) info ${message}`, "gm"))].map(([, time = ""]) =>
    Date.parse(time),
  );
}

/** The data about machines that an HQ must not forget. */
async function identities(client: ServerClient) {
  const records = await client.api.call(endpoints.listRemotes);
  return records
    .map(({ id, name, url, registeredAt }) => ({ id, name, url, registeredAt }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

test.concurrent("two machines are listed under their names and the ids and addresses that they have", async () => {
  const records = await client.api.call(endpoints.listRemotes);
  expect(records.map(({ name }) => name).toSorted()).toEqual(["box", "spare"]);
  for (const { id, name, url, sessionIds } of records) {
    const remote = steady.remote(name);
    expect(await remote.health()).toMatchObject({ mode: "remote", remoteId: id });
    expect({ url, sessionIds }).toEqual({ url: remote.internalUrl, sessionIds: [] });
  }
  expect(await steady.hq.health()).toMatchObject({ mode: "hq", remotes: 2 });
  const keys = await client.api.call(endpoints.listRemoteKeys);
  expect(keys.map(({ name }) => name).toSorted()).toEqual(["box", "spare"]);
});

test.concurrent("a machine with the wrong password is not let in, and its log says so", async () => {
  const login = { ...steady.login, password: "wrong" };
  await using remote = await stranger("stranger", login).start();
  await logs(remote, /not registered with the HQ .*reason="wrong user name or password"/);
  expect(await machineOf(client, "stranger")).toBeUndefined();
  using person = await steady.hq.client(login);
  await expect(person.api.list()).rejects.toMatchObject({ code: "unauthorized" });
});

test.concurrent("a second machine of the same name is refused while the first one answers", async () => {
  const { id, url } = await knownMachine(client, "box");
  await using second = await stranger("second").withEnvironment({ TTYHQ_NAME: "box" }).start();
  await logs(second, "another remote has the name box");
  expect(await knownMachine(client, "box")).toMatchObject({ id, url });
});

type Outage = { readonly what: string; readonly of: (hq: StartedService) => Promise<void> };

/** After each of them its server answers again. */
const OUTAGES: readonly Outage[] = [
  { what: "whose server was killed", of: (hq) => hq.killServer().then(() => hq.ready()) },
  { what: "that was restarted", of: (hq) => hq.restart() },
  { what: "whose machine was killed and started again", of: (hq) => hq.kill().then(() => hq.start()) },
];

test.concurrent.each(OUTAGES)(
  "an HQ $what knows its machines at once, and their sessions go on",
  async ({ of }) => {
    await using cluster = await Cluster.start({ remotes: 2 });
    using client = await cluster.client();
    const before = await identities(client);
    using shell = await client.run({ remoteId: before[0]?.id, command: ["sh"] });
    await answers(shell, 42);
    const { instanceId } = await cluster.hq.health();
    await of(cluster.hq);
    expect(await identities(client)).toEqual(before);
    expect((await cluster.hq.health()).instanceId).not.toBe(instanceId);
    expect(await client.api.get(shell.sessionId)).toMatchObject({
      status: "running",
      source: before[0]?.name,
    });
    await shell.until(() => shell.reconnects > 0 || undefined, "the reconnect");
    await shell.connected();
    await answers(shell, 144);
    expect(shell.resyncs).toBe(0);
    expect((await client.api.list()).map(({ id }) => id)).toContain(shell.sessionId);
  },
);

// These run alone: other starts would disturb the measurement.
test("a remote that was restarted is back within 2 s of its server's listening", async () => {
  const remote = steady.remote("box");
  const { id } = await knownMachine(client, "box");
  const back = async (): Promise<number> => {
    const starts = logged(remote, "server listening").length;
    await remote.restart();
    const nextTime = (message: string): Promise<number> =>
      eventually(
        async () => logged(remote, message)[starts],
        message,
        {},
        () => remote.scene,
      );
    const registered = await nextTime("registered with the HQ");
    expect((await knownMachine(client, "box")).id).toBe(id);
    return registered - (await nextTime("server listening"));
  };
  expect(await bestTime(RETURN_MS, back)).toBeLessThan(RETURN_MS);
  using session = await client.run({ remoteId: id, command: ["true"] });
  await session.ended();
});

test("the sessions of a remote whose server was killed are used through the HQ within 5 s", async () => {
  const remote = steady.remote("box");
  const { id: remoteId } = await knownMachine(client, "box");
  using shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);
  const { pid } = await client.api.get(shell.sessionId);
  const { instanceId } = await remote.health();
  let sum = 142;
  const used = async (): Promise<number> => {
    sum += 2;
    const killed = performance.now();
    await remote.killServer();
    const typed = async (): Promise<true> => {
      await client.api.input(shell.sessionId, { text: `echo $((${sum / 2} * 2))\r` });
      return true;
    };
    await eventually(typed, "an input that is taken", {}, () => steady.scene);
    await shell.shows(new RegExp(`^${sum}$`, "m"));
    return performance.now() - killed;
  };
  expect(await bestTime(RESUMPTION_MS, used)).toBeLessThan(RESUMPTION_MS);
  expect((await remote.health()).instanceId).not.toBe(instanceId);
  expect(await client.api.get(shell.sessionId)).toMatchObject({ pid, status: "running" });
  expect(shell.resyncs).toBe(0);
});
