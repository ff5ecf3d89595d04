import { Emitter } from "../lib/emitter.ts";
import {
  isUnchanged,
  type Ledger,
  type LedgerChange,
  type RegistryStore,
  type Remote,
  rivalOf,
} from "./registry.ts";

/** The ledger of one HQ alone: kept in memory, and as a whole in a store. */
export class OwnLedger implements Ledger {
  readonly #store: RegistryStore;
  readonly #onSaveFailure: (error: unknown) => void;
  readonly #remotes = new Map<string, Remote>();
  readonly #changes = new Emitter<LedgerChange>();
  #saving: Promise<void> = Promise.resolve();
  /** The write that begins when the one that runs is over. */
  #nextSave: Promise<void> | undefined;

  constructor(options: {
    readonly store: RegistryStore;
    /** What could not be saved is in memory alone: the remotes register again after a restart. */
    readonly onSaveFailure: (error: unknown) => void;
  }) {
    this.#store = options.store;
    this.#onSaveFailure = options.onSaveFailure;
  }

  async load(): Promise<readonly Remote[]> {
    const remotes = await this.#store.load();
    for (const remote of remotes) this.#remotes.set(remote.id, remote);
    return remotes;
  }

  async put(remote: Remote): Promise<Remote | undefined> {
    const holder = rivalOf(this.#remotes.values(), remote);
    if (holder !== undefined) return holder;
    this.#remotes.set(remote.id, remote);
    this.#changes.emit({ kind: "kept", remote });
    await this.#save();
    return undefined;
  }

  async drop(remote: Remote, when: "always" | "unchanged"): Promise<void> {
    const { id } = remote;
    if (when === "unchanged" && !isUnchanged(this.#remotes.get(id), remote)) return;
    if (!this.#remotes.delete(id)) return;
    this.#changes.emit({ kind: "dropped", id });
    await this.#save();
  }

  watch(listener: (change: LedgerChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /**
   * One write at a time, each with what is there by then: a thousand registrations at once are a few writes, and each
   * waits for two of them at most.
   */
  #save(): Promise<void> {
    this.#nextSave ??= this.#saving.then(() => {
      this.#nextSave = undefined;
      this.#saving = this.#store.save([...this.#remotes.values()]).catch(this.#onSaveFailure);
      return this.#saving;
    });
    return this.#nextSave;
  }
}
