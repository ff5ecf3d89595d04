import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { type Caller, createCaller } from "../../src/protocol/client/caller.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { REQUEST_TIMEOUT_MS } from "../../src/protocol/limits.ts";
import { createSender, type Sender } from "../../src/remote/send.ts";
import { nowUs } from "./clock.ts";
import type { Headquarters, Peer } from "./peer.ts";
import { ProcessGroup } from "./process-group.ts";
import { Simulator } from "./simulator.ts";
import type { Workshop } from "./workshop.ts";

/** Between two checks of the HQ. */
const POLL_MS = 50;
/** Between two lists: about the rate of a page with many viewers. */
const LIST_GAP_MS = 50;
/** The deadline until the HQ knows the whole fleet. */
export const JOIN_TIMEOUT_MS = 60_000;

export type FleetSize = { readonly remotes: number; readonly sessionsEach: number };

/** One answer of GET /api/sessions, from the request to the last byte. */
export type ListTime = { readonly ms: number; readonly bytes: number };

/** The HQ's own counts. */
export type Known = { readonly remotes: number; readonly sessions: number };

/** A running HQ, simulated remotes that may join it, and the accounts of the HQ's resources. */
export class FleetStage implements AsyncDisposable {
  readonly hq: Headquarters;
  readonly simulator: Simulator;
  readonly group: ProcessGroup;
  readonly size: FleetSize;
  readonly #sender: Sender;
  readonly #caller: Caller;

  static async open(peer: Peer, workshop: Workshop, size: FleetSize): Promise<FleetStage> {
    if (peer.kind !== "server" || peer.headquarters === undefined) throw new Error(`${peer.name} is no HQ`);
    await using stack = new AsyncDisposableStack();
    const hq = stack.use(await peer.headquarters());
    const simulator = await Simulator.open(size.remotes, size.sessionsEach);
    stack.move();
    return new FleetStage(hq, simulator, new ProcessGroup(hq.pids, workshop.program), size);
  }

  private constructor(hq: Headquarters, simulator: Simulator, group: ProcessGroup, size: FleetSize) {
    this.hq = hq;
    this.simulator = simulator;
    this.group = group;
    this.size = size;
    this.#sender = createSender({ url: hq.origin, headers: {} });
    this.#caller = createCaller(this.#sender.send);
  }

  /** Sessions of the whole fleet. */
  get sessions(): number {
    return this.size.remotes * this.size.sessionsEach;
  }

  /** Lets all remotes join, and waits until all their sessions are in the list. */
  async fill(): Promise<void> {
    await this.simulator.join(this.hq.origin);
    await this.until(
      ({ sessions }) => sessions === this.sessions,
      JOIN_TIMEOUT_MS,
      "all sessions in the list",
    );
  }

  /** Resolves as soon as the HQ knows that much; polls every POLL_MS. */
  async until(isEnough: (known: Known) => boolean, timeoutMs: number, what: string): Promise<void> {
    await withDeadline(
      async (signal) => {
        while (!isEnough(await this.known())) await sleep(POLL_MS, undefined, { signal });
      },
      timeoutMs,
      what,
    );
  }

  async known(): Promise<Known> {
    const { remotes = 0, sessions } = await this.#caller.call(endpoints.health);
    return { remotes, sessions };
  }

  /** The number of remotes in GET /api/remotes, and the sessions that it reports for them. */
  async remotes(): Promise<Known> {
    const remotes = await this.#caller.call(endpoints.listRemotes);
    const sessions = remotes.reduce((sum, { sessionIds }) => sum + sessionIds.length, 0);
    return { remotes: remotes.length, sessions };
  }

  /** The number of sessions in GET /api/sessions. */
  async listed(): Promise<number> {
    return (await this.#caller.call(endpoints.listSessions)).length;
  }

  /**
   * Requests lists, one after the other with a pause, until `isOver`. They are not parsed, because only the HQ is
   * measured.
   */
  async times(isOver: () => boolean): Promise<readonly ListTime[]> {
    const times: ListTime[] = [];
    while (!isOver()) {
      times.push(await this.#timeList());
      await sleep(LIST_GAP_MS);
    }
    return times;
  }

  async #timeList(): Promise<ListTime> {
    const beganUs = nowUs();
    const { path } = endpoints.listSessions;
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const answer = await this.#sender.send({ method: "GET", path, headers: {}, body: undefined, signal });
    let bytes = 0;
    for await (const piece of answer.body) bytes += piece.length;
    if (answer.status !== 200) throw new Error(`the list: status ${answer.status}`);
    return { ms: (nowUs() - beganUs) / 1000, bytes };
  }

  /** Stops the HQ first: remotes that leave before it would fill its log. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sender[Symbol.dispose]();
    await this.hq[Symbol.asyncDispose]();
    this.simulator[Symbol.dispose]();
  }
}
