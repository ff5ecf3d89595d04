// The data of the machines view, read again while it is open.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../../protocol/client/client.ts";
import { remoteEndpoints } from "../../protocol/endpoints/remote.ts";
import { serverEndpoints } from "../../protocol/endpoints/server.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { CreateJoinToken, JoinTokenRecord, NewJoinToken } from "../../protocol/schemas/join.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import { Refresher, type RefresherOptions } from "../refresher.ts";
import type { FleetStatus } from "./machine-lines.ts";

export type MachineOverviewState = Omit<FleetStatus, "sessions"> & {
  readonly tokens: readonly JoinTokenRecord[];
};

type MachineOverviewOptions = {
  readonly client: Pick<Client, "call" | "health">;
  /** Whether the caller may see join tokens and keys. */
  readonly isManager: () => Promise<boolean>;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
} & Pick<RefresherOptions, "stage">;

/** As often as the HQ checks its remotes. */
const READ_INTERVAL_MS = 15_000;
const MIN_INTERVAL_MS = 800;

export class MachineOverview implements Disposable {
  readonly #options: MachineOverviewOptions;
  readonly #state = signal<MachineOverviewState | undefined>(undefined);
  /** Undefined until it is read. */
  readonly state: ReadonlySignal<MachineOverviewState | undefined> = this.#state;
  readonly #failure = signal<unknown>(undefined);
  readonly failure: ReadonlySignal<unknown> = this.#failure;
  readonly #scope = new DisposableStack();
  readonly #refresher: Refresher;

  constructor(options: MachineOverviewOptions) {
    this.#options = options;
    const read = (signal: AbortSignal): Promise<void> => this.#read(signal);
    const times = { intervalMs: MIN_INTERVAL_MS };
    this.#refresher = this.#scope.use(new Refresher({ read, stage: options.stage, ...times }));
    const timer = setInterval(() => this.refresh(), READ_INTERVAL_MS);
    this.#scope.defer(() => clearInterval(timer));
    this.#scope.use(
      options.subscribe(({ type }) => {
        if (type === "connected") this.#refresher.renewed();
        else if (type === "remote-joined" || type === "remote-left") this.refresh();
      }),
    );
    this.refresh();
  }

  refresh(): void {
    this.#refresher.refresh();
  }

  async cordon(name: string, cordoned: boolean): Promise<void> {
    const { client } = this.#options;
    const body = { cordoned };
    if (name === LOCAL) await client.call(serverEndpoints.cordonServer, { body });
    else await client.call(remoteEndpoints.cordonRemote, { params: { name }, body });
    this.refresh();
  }

  async createToken(body: CreateJoinToken): Promise<NewJoinToken> {
    const made = await this.#options.client.call(remoteEndpoints.createJoinToken, { body });
    this.refresh();
    return made;
  }

  async revokeToken({ id: tokenId }: JoinTokenRecord): Promise<void> {
    await this.#options.client.call(remoteEndpoints.revokeJoinToken, { params: { tokenId } });
    this.refresh();
  }

  async revokeKey(name: string): Promise<void> {
    await this.#options.client.call(remoteEndpoints.revokeRemoteKey, { params: { name } });
    this.refresh();
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, isManager } = this.#options;
    try {
      const mayManage = await isManager();
      const [health, remotes, keys, tokens] = await Promise.all([
        client.health(signal),
        client.call(remoteEndpoints.listRemotes, { query: { down: "1" } }, signal),
        mayManage ? client.call(remoteEndpoints.listRemoteKeys, {}, signal) : [],
        mayManage ? client.call(remoteEndpoints.listJoinTokens, {}, signal) : [],
      ]);
      this.#failure.value = undefined;
      this.#state.value = { health, remotes, keys, tokens };
    } catch (error) {
      if (!signal.aborted) this.#failure.value = error;
      throw error;
    }
  }
}
