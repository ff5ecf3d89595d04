// The HQ's side of the tunnels of remotes that dial it (--hq-dial).
import { EventEmitter, once } from "node:events";
import { TUNNEL_WAIT_MS } from "../protocol/limits.ts";
import type { Tunnel, TunnelConnect } from "../remote/tunnel.ts";

/** At most one tunnel for each remote, by the remote's id. */
export class Tunnels implements Disposable {
  readonly #tunnels = new Map<string, Tunnel>();
  /** Emits each new tunnel, by `eventOf` its remote. */
  readonly #opened = new EventEmitter<Record<string, [Tunnel]>>().setMaxListeners(0);

  /** An earlier tunnel of the remote, which may be dead, is closed. */
  accept(remoteId: string, tunnel: Tunnel): void {
    this.close(remoteId);
    this.#tunnels.set(remoteId, tunnel);
    void tunnel.closed.then(() => {
      if (this.#tunnels.get(remoteId) === tunnel) this.#tunnels.delete(remoteId);
    });
    this.#opened.emit(eventOf(remoteId), tunnel);
  }

  /** Waits for a tunnel that is missing, since a remote dials again within a moment of a cut. */
  readonly connect: TunnelConnect = async (remoteId) => {
    const tunnel = this.#tunnels.get(remoteId) ?? (await this.#next(remoteId));
    return tunnel.open();
  };

  close(remoteId: string): void {
    this.#tunnels.get(remoteId)?.close();
    this.#tunnels.delete(remoteId);
  }

  [Symbol.dispose](): void {
    for (const remoteId of this.#tunnels.keys()) this.close(remoteId);
  }

  async #next(remoteId: string): Promise<Tunnel> {
    const signal = AbortSignal.timeout(TUNNEL_WAIT_MS);
    try {
      const [tunnel] = await once(this.#opened, eventOf(remoteId), { signal });
      return tunnel;
    } catch (cause) {
      throw new Error("it has no tunnel to this HQ", { cause });
    }
  }
}

/** Not `error`, which is a valid id and a special event. */
function eventOf(remoteId: string): string {
  return `open ${remoteId}`;
}
