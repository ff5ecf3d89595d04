// A session with endless output, and viewers that check every byte of it.
import { expect } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { CHANGE_TIMEOUT_MS } from "./kubectl.ts";
import type { KubernetesCluster } from "./kubernetes-cluster.ts";
import { type Stall, StallWatch } from "./stall-watch.ts";
import { SteadyOracle } from "./steady-oracle.ts";

/** Little enough that hundreds of viewers keep no core busy; the stream lasts for more than three minutes. */
const PIECE_BYTES = 500;
/** Less than the lag at which the server would send the screen. */
const STREAM_BYTES = 1_000_000;
/** Output after which a viewer counts as connected. */
const SOME_BYTES = 10_000;
const LIMITS = { timeoutMs: CHANGE_TIMEOUT_MS };

type ShowParts = {
  readonly cluster: KubernetesCluster;
  readonly remoteId: string;
  readonly oracle: SteadyOracle;
  readonly checkers: readonly OracleChecker[];
  readonly watches: readonly StallWatch[];
  readonly viewers: readonly TerminalClient[];
};

export class Show implements Disposable {
  readonly #parts: ShowParts;

  private constructor(parts: ShowParts) {
    this.#parts = parts;
  }

  /** Resolves when the program on that remote prints, and all viewers see it. */
  static async open(cluster: KubernetesCluster, remote: string, viewerCount: number): Promise<Show> {
    const { client } = cluster;
    const remoteId = await cluster.remoteId(remote);
    const oracle = new SteadyOracle({ bytes: STREAM_BYTES }, PIECE_BYTES);
    const { id } = await client.api.create({ command: [...oracle.command], remoteId });
    const checkers = Array.from({ length: viewerCount }, () => new OracleChecker());
    const watches = checkers.map((checker) => new StallWatch(checker));
    using stack = new DisposableStack();
    const attaching = watches.map(async (checker) =>
      stack.use(await client.attach(id, { checker, hasScreen: false, keptBytes: 0 })),
    );
    const viewers = await Promise.all(attaching);
    const show = new Show({ cluster, remoteId, oracle, checkers, watches, viewers });
    await show.goesOn();
    stack.move();
    return show;
  }

  get viewers(): readonly TerminalClient[] {
    return this.#parts.viewers;
  }

  /** The longest wait of a viewer for output. */
  get worst(): Stall {
    return longest(this.#parts.watches);
  }

  /** The longest wait of a viewer that kept its link: what the machine, and not the product, makes all of them wait. */
  get worstOfStaying(): Stall {
    return longest(this.#parts.watches.filter((_, index) => this.viewers[index]?.reconnects === 0));
  }

  get reconnects(): number {
    return this.viewers.reduce((sum, { reconnects }) => sum + reconnects, 0);
  }

  /** Resolves when each viewer has received more. */
  async goesOn(): Promise<void> {
    await Promise.all(
      this.viewers.map((viewer) => viewer.reaches((viewer.offset ?? 0) + SOME_BYTES, LIMITS)),
    );
  }

  /** Lets the program end. Every viewer must have received each byte once, and never a screen instead. */
  async finish(): Promise<void> {
    const { cluster, remoteId, oracle, checkers } = this.#parts;
    await oracle.finish(cluster.client, remoteId);
    const ends = await Promise.all(this.viewers.map((viewer) => viewer.ended(LIMITS)));
    expect(new Set(ends.map(({ exitCode }) => exitCode))).toEqual(new Set([0]));
    for (const checker of checkers) {
      expect(checker.verify()).toMatchObject({ isComplete: true, lost: 0, doubled: 0, skipped: 0 });
    }
    expect(new Set(this.viewers.map(({ resyncs }) => resyncs))).toEqual(new Set([0]));
  }

  [Symbol.dispose](): void {
    for (const viewer of this.viewers) viewer[Symbol.dispose]();
  }
}

function longest(watches: readonly StallWatch[]): Stall {
  const stalls = watches.map(({ worst }) => worst);
  return stalls.reduce((worst, stall) => (stall.ms > worst.ms ? stall : worst), { beganMs: 0, ms: 0 });
}
