import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { type Silence, Silences } from "../health/silences.ts";
import {
  isUnchanged,
  type RegistryFile,
  type RegistryStore,
  type RegistryStoreChange,
  type Remote,
  rivalOf,
} from "./registry.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

/**
 * The ledger of one HQ alone: kept in memory, and as a whole in a store. What the store did not take is tried again until
 * it does, after half a second, then less and less often, at least every 5 s.
 */
export class FileRegistryStore implements RegistryStore, AsyncDisposable {
  readonly #store: RegistryFile;
  readonly #onSaveFailure: (error: unknown) => void;
  readonly #onSavedAgain: () => void;
  readonly #backoff = new Backoff({ firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, random: () => 0 });
  readonly #remotes = new Map<string, Remote>();
  readonly #silences: Silences;
  readonly #changes = new Emitter<RegistryStoreChange>();
  #saving: Promise<void> = Promise.resolve();
  /** The write that begins when the one that runs is over. */
  #nextSave: Promise<void> | undefined;
  #isSaved = true;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: {
    readonly store: RegistryFile;
    /** Hears of the first that failed. What could not be saved is in memory alone: after a restart remotes register again. */
    readonly onSaveFailure: (error: unknown) => void;
    readonly onSavedAgain?: () => void;
    readonly now: () => Date;
  }) {
    this.#store = options.store;
    this.#onSaveFailure = options.onSaveFailure;
    this.#onSavedAgain = options.onSavedAgain ?? (() => {});
    this.#silences = new Silences(options.now);
  }

  /** Whether the store took all that is known here. */
  get isConnected(): boolean {
    return this.#isSaved;
  }

  get silent(): readonly Silence[] {
    return this.#silences.recent;
  }

  async load(): Promise<readonly Remote[]> {
    const { remotes, silent } = await this.#store.load();
    this.#silences.restore(silent);
    for (const remote of remotes) this.#remotes.set(remote.id, remote);
    return remotes;
  }

  async put(remote: Remote): Promise<Remote | undefined> {
    const holder = rivalOf(this.#remotes.values(), remote);
    if (holder !== undefined) return holder;
    this.#remotes.set(remote.id, remote);
    this.#silences.end(remote.name);
    this.#changes.emit({ kind: "kept", remote });
    await this.#save();
    return undefined;
  }

  async drop(remote: Remote, when: "always" | "unchanged"): Promise<void> {
    const { id } = remote;
    if (when === "unchanged" && !isUnchanged(this.#remotes.get(id), remote)) return;
    if (!this.#remotes.delete(id)) return;
    if (when === "unchanged") this.#silences.begin(remote.name);
    this.#changes.emit({ kind: "dropped", id });
    await this.#save();
  }

  /** Tries a last time. What the store does not take then is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await (this.#nextSave ?? this.#saving);
    if (!this.#isSaved) await this.#save();
  }

  watch(listener: (change: RegistryStoreChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /**
   * One write at a time, each with what is there by then: a thousand registrations at once are a few writes, and each
   * waits for two of them at most.
   */
  #save(): Promise<void> {
    this.#nextSave ??= this.#saving.then(() => {
      this.#nextSave = undefined;
      this.#saving = this.#write();
      return this.#saving;
    });
    return this.#nextSave;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.#store.save({ remotes: [...this.#remotes.values()], silent: this.silent });
    } catch (error) {
      if (this.#isSaved) this.#onSaveFailure(error);
      this.#isSaved = false;
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#save(), this.#backoff.next()).unref();
      return;
    }
    if (this.#isSaved) return;
    this.#isSaved = true;
    this.#backoff.reset();
    this.#onSavedAgain();
  }
}
