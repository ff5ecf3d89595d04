import { setTimeout as sleep } from "node:timers/promises";
import type { Server, ServerPeer } from "./peer.ts";
import { ProcessGroup } from "./process-group.ts";
import type { Sight } from "./viewer.ts";
import { type RemoteViewer, ViewerProcess } from "./viewer-process.ts";
import type { Work, Workshop } from "./workshop.ts";

/** A server's remaining work after the last byte, such as writing to disk, counts as well. */
export const SETTLE_MS = 300;

export const MIB = 1024 * 1024;

/** A running server, a process for viewers, and the accounts of the server's resources. */
export class Stage implements AsyncDisposable {
  readonly server: Server;
  readonly viewers: ViewerProcess;
  readonly group: ProcessGroup;

  static async open(peer: ServerPeer, workshop: Workshop): Promise<Stage> {
    const server = await peer.start(workshop);
    return new Stage(server, new ProcessGroup(server.pids, workshop.program));
  }

  private constructor(server: Server, group: ProcessGroup) {
    this.server = server;
    this.group = group;
    this.viewers = new ViewerProcess();
  }

  /**
   * A session with `count` viewers that all wait for the key; the first has seen the program's first line. If each
   * viewer has a program of its own, all have.
   */
  async audience(work: Work, count: number, isShared: boolean): Promise<readonly RemoteViewer[]> {
    const session = this.server.session(work.words);
    const first = await this.viewers.open(session.first(), work.expectation);
    await first.wait("ready");
    const others = Array.from({ length: count - 1 }, async () => {
      const viewer = await this.viewers.open(session.next(), work.expectation);
      if (!isShared) await viewer.wait("ready");
      return viewer;
    });
    return [first, ...(await Promise.all(others))];
  }

  /** Types the key, and waits until all viewers have everything. `seconds` is the time of the slowest. */
  async perform(
    viewers: readonly RemoteViewer[],
    isShared: boolean,
  ): Promise<{ readonly seconds: number; readonly cpuSeconds: number }> {
    const cpuBefore = this.group.cpuSeconds();
    const beganUs = await this.viewers.press(isShared ? viewers.slice(0, 1) : viewers);
    const sights = await Promise.all(viewers.map((viewer) => viewer.wait("whole")));
    const seconds = Math.max(...sights.map(wholeUs)) / 1e6 - beganUs / 1e6;
    await sleep(SETTLE_MS);
    return { seconds, cpuSeconds: this.group.cpuSeconds() - cpuBefore };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.viewers[Symbol.dispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

/** Throws Error if a viewer reported a fault. */
export function wholeUs(sight: Sight): number {
  if (sight.error !== undefined || sight.wholeUs === undefined) {
    throw new Error(sight.error ?? `only ${sight.bytes} bytes came`);
  }
  return sight.wholeUs;
}
