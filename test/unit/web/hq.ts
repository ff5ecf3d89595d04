// What the page knows of an HQ, by hand: a document that is shown, events, records.
import { Emitter } from "../../../src/lib/async/emitter.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import type { RemoteRecord } from "../../../src/protocol/schemas/remote.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import type { Stage } from "../../../src/web/refresher.ts";

const AT = "2026-01-01T00:00:00.000Z";

const stage: Stage = {
  visibilityState: "visible",
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
};

/** A page that is looked at and reads as often as it likes. */
export const shown = { stage, intervalMs: 1 } as const;

export class Events {
  readonly #events = new Emitter<ServerEvent>();

  readonly subscribe = (listener: (event: ServerEvent) => void): Disposable => this.#events.on(listener);

  tell(event: Omit<ServerEvent, "timestamp">): void {
    this.#events.emit({ ...event, timestamp: AT });
  }
}

export function remote(name: string, conflicts: readonly string[] = []): RemoteRecord {
  const url = `http://${name}.example`;
  const common = { id: `id-of-${name}`, name, url, registeredAt: AT, lastHeartbeat: AT, sessionIds: [] };
  return conflicts.length === 0 ? common : { ...common, conflicts: [...conflicts] };
}

/** A session of a machine; without one, of a server that is no HQ. */
export function session(
  id: string,
  source?: string,
  status: SessionRecord["status"] = "running",
): SessionRecord {
  return {
    ...{ id, sessionId: id, name: id, status, command: ["sh"], cwd: "/", workingDir: "/" },
    ...{ created: AT, startedAt: AT, lastModified: AT, cols: 80, rows: 24, outputBytes: 0, viewers: 0 },
    ...(source === undefined ? {} : { source, remoteName: source, remoteId: `id-of-${source}` }),
  };
}
