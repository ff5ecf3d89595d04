// A machine that falls silent leaves its HQ, and returns with the same identity. The tests wait in parallel.
import { beforeAll, expect, test } from "vitest";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import type { StartedService } from "../../../packages/testing/src/started.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import {
  CLOCK_CHECK_MS,
  CLOCK_JUMP_MS,
  HEALTH_CHECK_INTERVAL_MS,
  HEALTH_CHECK_TIMEOUT_MS,
} from "../../../src/protocol/limits.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { bestTime } from "../harness/best-time.ts";
import { knownMachine, machineOf } from "./known-machine.ts";
import { answers } from "./shell.ts";

/** The interval and duration of a health check. */
const EXPIRY_MS = HEALTH_CHECK_INTERVAL_MS + HEALTH_CHECK_TIMEOUT_MS;
const RETURN_MS = 2_000;
/** The tolerance for delays of a busy machine and of the test. */
const LATENESS_MS = 1_000;

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

type Stage = { readonly cluster: Cluster; readonly client: ServerClient };

/** A running shell on its machine. */
async function openShell(client: ServerClient): Promise<TerminalClient> {
  const { id: remoteId } = await knownMachine(client, "box");
  const shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);
  return shell;
}

/** The time in ms until the HQ lists neither the machine nor any of its sessions. */
async function awayAfter({ cluster, client }: Stage): Promise<number> {
  const started = performance.now();
  const isAway = async (): Promise<true | undefined> => {
    const sessions = await client.api.list();
    if (sessions.some(({ source }) => source === "box")) return undefined;
    return (await machineOf(client, "box")) === undefined || undefined;
  };
  await eventually(isAway, "its absence", {}, () => cluster.scene);
  return performance.now() - started;
}

/** The time in ms until the HQ lists the machine with that session. */
async function backAfter({ cluster, client }: Stage, sessionId: string): Promise<number> {
  const started = performance.now();
  const isBack = async (): Promise<true | undefined> =>
    (await machineOf(client, "box"))?.sessionIds.includes(sessionId) || undefined;
  await eventually(isBack, "its return", {}, () => cluster.scene);
  return performance.now() - started;
}

type Outage = {
  readonly begin: (remote: StartedService) => Promise<void>;
  readonly end: (remote: StartedService) => Promise<void>;
};

/**
 * The machine leaves and returns with the same identity; input of the meantime is refused and not kept. Returns by how
 * many ms the later of the two exceeded its time.
 */
async function latenessOf(stage: Stage, shell: TerminalClient, { begin, end }: Outage): Promise<number> {
  const { cluster, client } = stage;
  const { id } = await knownMachine(client, "box");
  await begin(cluster.remote("box"));
  const expiredAfter = await awayAfter(stage);
  await expect(shell.type("echo kept for later\r")).rejects.toMatchObject({ code: "remote_unreachable" });
  await end(cluster.remote("box"));
  const back = await backAfter(stage, shell.sessionId);
  expect(await knownMachine(client, "box")).toMatchObject({ id });
  return Math.max(expiredAfter - EXPIRY_MS, back - RETURN_MS);
}

const OUTAGES: readonly (Outage & { readonly what: string })[] = [
  { what: "paused", begin: (remote) => remote.pause(), end: (remote) => remote.unpause() },
  { what: "cut-off", begin: (remote) => remote.disconnect(), end: (remote) => remote.reconnect() },
];

test.concurrent.each(OUTAGES)(
  "a $what machine leaves within 20 s, and its programs go on where they stood when it is back",
  async (outage) => {
    await using cluster = await Cluster.start({ remotes: ["box"] });
    using client = await cluster.client();
    const pass = async (): Promise<number> => {
      using shell = await openShell(client);
      const lateness = await latenessOf({ cluster, client }, shell, outage);
      expect(await client.api.get(shell.sessionId)).toMatchObject({ status: "running", source: "box" });
      await answers(shell, 144);
      expect(shell.screen).not.toContain("kept for later");
      expect(shell.resyncs).toBe(0);
      return lateness;
    };
    expect(await bestTime(LATENESS_MS, pass)).toBeLessThan(LATENESS_MS);
  },
);

test.concurrent("a killed machine leaves within 20 s, and has the records of its sessions when it is back", async () => {
  await using cluster = await Cluster.start({ remotes: ["box"] });
  using client = await cluster.client();
  const outage: Outage = { begin: (remote) => remote.kill(), end: (remote) => remote.start() };
  const pass = async (): Promise<number> => {
    using shell = await openShell(client);
    const lateness = await latenessOf({ cluster, client }, shell, outage);
    await shell.ended();
    expect(await client.api.get(shell.sessionId)).toMatchObject({
      status: "exited",
      exitReason: "host_lost",
    });
    using _another = await openShell(client);
    return lateness;
  };
  expect(await bestTime(LATENESS_MS, pass)).toBeLessThan(LATENESS_MS);
});

test.concurrent("a machine that slept for more than 5 s registers as soon as it wakes", async () => {
  await using cluster = await Cluster.start({ remotes: ["box"] });
  using client = await cluster.client();
  const remote = cluster.remote("box");
  const sleep = async (): Promise<number> => {
    const { id, lastHeartbeat } = await knownMachine(client, "box");
    // Right after a health check the HQ makes no other for a while: news of the machine until then came from the
    // machine.
    const check = async (): Promise<true | undefined> =>
      (await knownMachine(client, "box")).lastHeartbeat !== lastHeartbeat || undefined;
    await eventually(check, "the look of the HQ");
    await remote.pause();
    const asleep = Date.parse((await cluster.hq.health()).timestamp);
    const slept = async (): Promise<true | undefined> => {
      const now = Date.parse((await cluster.hq.health()).timestamp);
      // The machine may have read its clock up to CLOCK_LOOK_MS before it was suspended.
      return now - asleep > CLOCK_CHECK_MS + CLOCK_JUMP_MS || undefined;
    };
    await eventually(slept, "the end of a nap");
    const awake = Date.now();
    await remote.unpause();
    const heartbeat = await eventually(async () => {
      const at = Date.parse((await machineOf(client, "box"))?.lastHeartbeat ?? "");
      return at > awake ? at : undefined;
    }, "its registration");
    expect(await knownMachine(client, "box")).toMatchObject({ id });
    return heartbeat - awake;
  };
  expect(await bestTime(RETURN_MS + LATENESS_MS, sleep)).toBeLessThan(RETURN_MS + LATENESS_MS);
});
