import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../lib/json-file.ts";
import { Turns } from "../lib/turns.ts";

const Entry = z.object({
  repoPath: z.string(),
  user: z.string(),
  account: z.string().optional(),
  hookFolders: z.array(z.string()),
  hookKey: z.string().optional(),
});
const Entries = z.array(Entry);

/** A repository in which this server follows, for whom, where it has put hooks, and what those of other users say. */
export type FollowEntry = z.infer<typeof Entry>;

/**
 * The repositories in which this server follows, so that it goes on after a restart. The repository's own config says
 * what is followed: this only says where to look.
 */
export class FollowList {
  readonly #path: string;
  readonly #entries = new Map<string, FollowEntry>();
  readonly #writes = new Turns();

  constructor(path: string) {
    this.#path = path;
  }

  /** A file that is damaged is `internal_error`. */
  async read(): Promise<readonly FollowEntry[]> {
    const entries = (await readJsonFile(this.#path, (value) => Entries.parse(value))) ?? [];
    for (const entry of entries) this.#entries.set(entry.repoPath, entry);
    return entries;
  }

  get entries(): readonly FollowEntry[] {
    return [...this.#entries.values()];
  }

  get(repoPath: string): FollowEntry | undefined {
    return this.#entries.get(repoPath);
  }

  /** Those whose hooks say that key. */
  withKey(key: string): readonly FollowEntry[] {
    return this.entries.filter(({ hookKey }) => hookKey === key);
  }

  async set(entry: FollowEntry): Promise<void> {
    this.#entries.set(entry.repoPath, entry);
    await this.#write();
  }

  async delete(repoPath: string): Promise<void> {
    if (this.#entries.delete(repoPath)) await this.#write();
  }

  async #write(): Promise<void> {
    // As they are in its turn: of two that are written side by side the older one may be there last.
    await this.#writes.take(() => writeJsonFile(this.#path, this.entries, 0o600));
  }
}
