// `--canary` of an HQ, whose remote dials it through a network that can be cut.
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { LINE_BYTES } from "../../../src/app/canary/canary-stream.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { CutProxy } from "../harness/cut-proxy.ts";
import { Scrape } from "../harness/scrape.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import type { TestServer } from "../harness/test-server.ts";
import { clientOf } from "../harness/up-command.ts";

const DAMAGE_TIMEOUT_MS = 240_000;

class WatchedFleet implements AsyncDisposable {
  readonly fleet: TestFleet;
  readonly network: CutProxy;
  readonly remote: TestServer;
  readonly #owned: AsyncDisposableStack;

  private constructor(fleet: TestFleet, network: CutProxy, remote: TestServer, owned: AsyncDisposableStack) {
    this.fleet = fleet;
    this.network = network;
    this.remote = remote;
    this.#owned = owned;
  }

  static async start(): Promise<WatchedFleet> {
    await using stack = new AsyncDisposableStack();
    const fleet = stack.use(
      await TestFleet.start({ asProcess: true, dials: true, remotes: 0, hqArgs: ["--canary"] }),
    );
    const network = stack.use(await CutProxy.open(Number(new URL(fleet.hq.url).port)));
    const remote = await fleet.add("worker", { args: ["--hq-url", network.url] });
    await fleet.joined("worker");
    return new WatchedFleet(fleet, network, remote, stack.move());
  }

  /** Resolves when a new input was echoed. */
  async answers(): Promise<void> {
    const now = Date.now() / 1_000;
    const isLater = async (): Promise<true | undefined> => {
      const { samples } = await Scrape.of(this.fleet.hq);
      const last = samples.find(({ name }) => name === "ttyhq_canary_last_success_timestamp_seconds");
      const hasAnswered = samples.some(({ name }) => name === "ttyhq_canary_round_trip_seconds");
      return (hasAnswered && (last?.value ?? 0) > now) || undefined;
    };
    await eventually(isLater, "an answer of the canary", {}, () => this.fleet.hq.log);
  }

  async lost(): Promise<number> {
    return (await Scrape.of(this.fleet.hq)).value("ttyhq_bytes_lost_total");
  }

  /** The remote's own record of it. */
  async sessions(): Promise<readonly SessionRecord[]> {
    const { controlDir } = this.remote;
    return await clientOf({ controlDir }).list();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** Waits until a line was recorded, and overwrites it. */
async function damageNextLine(path: string): Promise<void> {
  const { size } = await stat(path);
  const isLonger = async () => (await stat(path)).size >= size + LINE_BYTES || undefined;
  await eventually(isLonger, "a line that nobody reads");
  await using file = await open(path, "r+");
  await file.write("#".repeat(LINE_BYTES), size);
}

test.concurrent("no byte is lost over a cut, kill -9 of the remote's server and of its session host, and nothing stays", async () => {
  await using it = await WatchedFleet.start();
  const { fleet, network, remote } = it;
  await it.answers();
  const [first] = await it.sessions();
  expect(first).toMatchObject({ name: "canary", status: "running" });
  expect(first).not.toHaveProperty("owner");
  network.cut();
  network.mend();
  await it.answers();
  await remote.restart();
  await it.answers();
  expect((await it.sessions()).map(({ id }) => id)).toEqual([first?.id]);
  await remote.killHost();
  // An echo of the first one may still be on its way to the HQ.
  const isAnother = async () => (await it.sessions()).find(({ id }) => id !== first?.id);
  const second = await eventually(isAnother, "another canary");
  await it.answers();
  expect(await it.lost()).toBe(0);
  expect((await it.sessions()).map(({ id }) => id)).toEqual([second.id]);
  await fleet.hq.kill("SIGTERM");
  await eventually(async () => (await it.sessions()).length === 0 || undefined, "the end of the canary");
});

test.concurrent("a cordoned remote has no canary", async () => {
  await using it = await WatchedFleet.start();
  await it.answers();
  const answer = await it.fleet.ask("/api/remotes/worker/cordon", { body: { cordoned: true } });
  expect(answer.status).toBe(200);
  await eventually(async () => (await it.sessions()).length === 0 || undefined, "the end of the canary");
});

test.concurrent("a damaged recording on the way is counted and logged, and another canary begins", async () => {
  await using it = await WatchedFleet.start();
  const { network, remote } = it;
  // Output in memory hides the damage: then it is repeated.
  const damage = async (): Promise<true | undefined> => {
    await it.answers();
    const [session] = await it.sessions();
    const path = join(remote.controlDir, "sessions", session?.id ?? "", "output");
    network.cut();
    try {
      await damageNextLine(path);
    } finally {
      network.mend();
    }
    await it.answers();
    return (await it.lost()) > 0 || undefined;
  };
  await eventually(damage, "a count of lost bytes", { timeoutMs: DAMAGE_TIMEOUT_MS });
  await it.fleet.hq.logged("canary lost bytes");
  await it.answers();
});
