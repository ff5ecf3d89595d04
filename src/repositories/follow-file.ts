import { z } from "zod";
import { FollowEntry } from "../git/follow/list.ts";
import { Mutex } from "../lib/async/mutex.ts";
import { readJsonFile, writeJsonFile } from "../lib/fs/atomic-file.ts";

const Stored = z.array(FollowEntry.extend({ account: z.string().optional() }));

/** The followed repositories of all users of a session host, in one file that survives restarts. */
export class FollowFile {
  readonly #path: string;
  /** By system user; `undefined`: the host's own. */
  readonly #entries = new Map<string | undefined, readonly FollowEntry[]>();
  readonly #writes = new Mutex();

  private constructor(path: string) {
    this.#path = path;
  }

  /** Rejects for a damaged file; with `onDamaged` it counts as empty, and the first change replaces its content. */
  static async open(path: string, onDamaged?: (error: unknown) => void): Promise<FollowFile> {
    const file = new FollowFile(path);
    try {
      const stored = (await readJsonFile(path, (value) => Stored.parse(value))) ?? [];
      for (const [account, entries] of Map.groupBy(stored, (entry) => entry.account))
        file.#entries.set(account, entries.map(withoutAccount));
    } catch (error) {
      if (onDamaged === undefined) throw error;
      onDamaged(error);
    }
    return file;
  }

  /** Users with followed repositories. */
  get accounts(): readonly (string | undefined)[] {
    return [...this.#entries.keys()];
  }

  of(account: string | undefined): readonly FollowEntry[] {
    return this.#entries.get(account) ?? [];
  }

  /** Replaces the entries of that user. */
  async set(account: string | undefined, entries: readonly FollowEntry[]): Promise<void> {
    if (entries.length === 0) this.#entries.delete(account);
    else this.#entries.set(account, entries);
    // Reads the entries in its turn: of two concurrent writes the older state could be stored last.
    await this.#writes.take(() => writeJsonFile(this.#path, this.#stored, 0o600));
  }

  /** Repositories whose hooks send that key. */
  withKey(key: string): readonly { readonly account?: string | undefined; readonly repoPath: string }[] {
    return this.#stored.filter(({ hookKey }) => hookKey === key);
  }

  get #stored(): z.infer<typeof Stored> {
    return [...this.#entries].flatMap(([account, entries]) =>
      entries.map((entry) => (account === undefined ? entry : { ...entry, account })),
    );
  }
}

function withoutAccount({ account: _, ...entry }: z.infer<typeof Stored>[number]): FollowEntry {
  return entry;
}
