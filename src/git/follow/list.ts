import { z } from "zod";
import { Mutex } from "../../lib/async/mutex.ts";

/** A followed repository: for whom, where our hooks are, and the key that they send. */
export const FollowEntry = z.object({
  repoPath: z.string().max(4096),
  user: z.string().max(256),
  hookFolders: z.array(z.string().max(4096)).max(8),
  hookKey: z.string().max(64).optional(),
});
export type FollowEntry = z.infer<typeof FollowEntry>;

/** Where the list outlives this process. */
export type FollowStore = {
  read(): Promise<readonly FollowEntry[]>;
  write(entries: readonly FollowEntry[]): Promise<void>;
};

/**
 * The repositories that this process follows, so that it goes on after a restart. The repository's own config says what
 * is followed: this only says where to look.
 */
export class FollowList {
  readonly #store: FollowStore;
  readonly #entries = new Map<string, FollowEntry>();
  readonly #writes = new Mutex();

  constructor(store: FollowStore) {
    this.#store = store;
  }

  /** Rejects as the store does. */
  async read(): Promise<readonly FollowEntry[]> {
    const entries = await this.#store.read();
    for (const entry of entries) this.#entries.set(entry.repoPath, entry);
    return entries;
  }

  get entries(): readonly FollowEntry[] {
    return [...this.#entries.values()];
  }

  get(repoPath: string): FollowEntry | undefined {
    return this.#entries.get(repoPath);
  }

  async set(entry: FollowEntry): Promise<void> {
    this.#entries.set(entry.repoPath, entry);
    await this.#write();
  }

  async delete(repoPath: string): Promise<void> {
    if (this.#entries.delete(repoPath)) await this.#write();
  }

  async #write(): Promise<void> {
    // The state at its turn: of two concurrent writes the older one could be stored last.
    await this.#writes.take(() => this.#store.write(this.entries));
  }
}
