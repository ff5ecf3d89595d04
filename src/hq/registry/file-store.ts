import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { Secret } from "../../lib/secret.ts";
import { MAX_DOWN_REMOTES } from "../../protocol/limits.ts";
import type { DownRemote, Registered, Remote } from "../remote-state.ts";
import type { RegistryStore, RegistryStoreChange } from "./registry.ts";
import { SealedRemote, TokenSeal } from "./token-seal.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

export type RegistryContents = { readonly remotes: readonly Remote[]; readonly down: readonly DownRemote[] };

/** The file of one HQ's registry, read and written as a whole. */
export type RegistryFile = {
  load(): Promise<RegistryContents>;
  save(contents: RegistryContents): Promise<void>;
};

/**
 * The store of a single HQ: in memory, and as a whole in a file. A failed write is retried until it succeeds, first after
 * half a second, then less often, at least every 5 s.
 */
export class FileRegistryStore implements RegistryStore, AsyncDisposable {
  readonly #file: RegistryFile;
  readonly #onSaveFailure: (error: unknown) => void;
  readonly #onSavedAgain: () => void;
  readonly #now: () => Date;
  readonly #backoff = new Backoff({ firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, random: () => 0 });
  /** By id. */
  readonly #remotes = new Map<string, Registered>();
  /** The latest last; at most MAX_DOWN_REMOTES, the earliest are dropped. */
  #down: readonly DownRemote[] = [];
  #puts = 0;
  readonly #changes = new Emitter<RegistryStoreChange>();
  #saving: Promise<void> = Promise.resolve();
  /** The write that follows the running one. */
  #nextSave: Promise<void> | undefined;
  #isSaved = true;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: {
    readonly file: RegistryFile;
    /** Called for the first failure. Unsaved remotes are in memory only: after a restart of the HQ they register again. */
    readonly onSaveFailure: (error: unknown) => void;
    readonly onSavedAgain?: () => void;
    readonly now: () => Date;
  }) {
    this.#file = options.file;
    this.#onSaveFailure = options.onSaveFailure;
    this.#onSavedAgain = options.onSavedAgain ?? (() => {});
    this.#now = options.now;
  }

  /** Whether the file has everything. */
  get isConnected(): boolean {
    return this.#isSaved;
  }

  async load(): Promise<void> {
    const { remotes, down } = await this.#file.load();
    this.#down = down;
    for (const remote of remotes) this.#set(remote);
    this.#changes.emit({ kind: "read", remotes: [...this.#remotes.values()], down });
  }

  async put(remote: Remote): Promise<Registered | undefined> {
    for (const holder of this.#remotes.values()) {
      if (holder.remote.name === remote.name && holder.remote.id !== remote.id) return holder;
    }
    const stored = this.#set(remote);
    this.#down = this.#down.filter(({ name }) => name !== remote.name);
    this.#changes.emit({ kind: "stored", ...stored });
    await this.#save();
    return undefined;
  }

  async remove(id: string, version?: string): Promise<void> {
    const stored = this.#remotes.get(id);
    if (stored === undefined || (version !== undefined && version !== stored.version)) return;
    this.#remotes.delete(id);
    const { name } = stored.remote;
    const down = version === undefined ? undefined : { name, since: this.#now().toISOString() };
    if (down !== undefined) this.#down = [...this.#down, down].slice(-MAX_DOWN_REMOTES);
    this.#changes.emit({ kind: "removed", id, down });
    await this.#save();
  }

  /** Tries to save a last time; a failure then loses the changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await (this.#nextSave ?? this.#saving);
    if (!this.#isSaved) await this.#save();
  }

  watch(listener: (change: RegistryStoreChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  #set(remote: Remote): Registered {
    this.#puts += 1;
    const stored = { remote, version: `${this.#puts}` };
    this.#remotes.set(remote.id, stored);
    return stored;
  }

  /** One write at a time, each with the latest content. A thousand concurrent registrations cost two or three writes. */
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
      const remotes = [...this.#remotes.values()].map(({ remote }) => remote);
      await this.#file.save({ remotes, down: this.#down });
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

const OWNER_ONLY = 0o600;

const Stored = z.object({
  version: z.literal(1),
  remotes: z.array(SealedRemote),
  /** Remotes that are down. */
  silent: z.array(z.object({ name: z.string(), since: z.string() })).optional(),
});

/** The registry as a file of the control directory, its tokens sealed with `secret`. */
export function registryFile(path: string, secret: Secret): RegistryFile {
  const seal = new TokenSeal(secret);
  return {
    load: async () => {
      const stored = await readJsonFile(path, (value) => Stored.parse(value));
      const remotes = (stored?.remotes ?? []).flatMap((remote) => seal.opened(remote) ?? []);
      return { remotes, down: stored?.silent ?? [] };
    },
    save: async ({ remotes, down }) => {
      const sealed = remotes.map((remote) => seal.sealed(remote));
      await writeJsonFile(path, { version: 1, remotes: sealed, silent: down }, OWNER_ONLY);
    },
  };
}
