import { z } from "zod";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_FOLLOWED_OF_USER, MAX_FOLLOWED_REPOSITORIES } from "../git-limits.ts";

/** A followed repository: for whom, and the folders with our hooks. */
export const FollowEntry = z.object({
  repoPath: z.string().max(4096),
  user: z.string().max(256),
  hookFolders: z.array(z.string().max(4096)).max(8),
});
export type FollowEntry = z.infer<typeof FollowEntry>;

/** The followed repositories, for a restart. The settings are in the config of each repository. */
export class FollowList {
  readonly #entries: Map<string, FollowEntry>;
  readonly #store: (entries: FollowEntry[]) => Promise<void>;

  /** `store` keeps the last entries that it was given. */
  constructor(entries: readonly FollowEntry[], store: (entries: FollowEntry[]) => Promise<void>) {
    this.#entries = new Map(entries.map((entry) => [entry.repoPath, entry]));
    this.#store = store;
  }

  get entries(): readonly FollowEntry[] {
    return [...this.#entries.values()];
  }

  get(repoPath: string): FollowEntry | undefined {
    return this.#entries.get(repoPath);
  }

  /** Rejects as the store does. */
  async set(entry: FollowEntry): Promise<void> {
    this.#entries.set(entry.repoPath, entry);
    await this.#store([...this.#entries.values()]);
  }

  /** Throws `invalid_request` where the limits of the process or of the user leave no room for another repository. */
  requireRoom({ repoPath, user }: Pick<FollowEntry, "repoPath" | "user">): void {
    const others = this.entries.filter((entry) => entry.repoPath !== repoPath);
    const isUserFull = others.filter((entry) => entry.user === user).length >= MAX_FOLLOWED_OF_USER;
    if (!isUserFull && others.length < MAX_FOLLOWED_REPOSITORIES) return;
    const where = isUserFull
      ? `${MAX_FOLLOWED_OF_USER} repositories of yours`
      : `${MAX_FOLLOWED_REPOSITORIES} repositories`;
    throw new ServiceError("invalid_request", `follow mode is on in ${where}: turn it off in one`);
  }

  async delete(repoPath: string): Promise<void> {
    if (this.#entries.delete(repoPath)) await this.#store([...this.#entries.values()]);
  }
}
