import { z } from "zod";
import { FollowEntry } from "../git/follow/list.ts";
import { coalesced } from "../lib/async/mutex.ts";
import { readJsonFile, writeJsonFile } from "../lib/fs/atomic-file.ts";

const Stored = z.array(FollowEntry.extend({ account: z.string().optional() }));

/** The followed repositories of all users of a session host, in one file that survives restarts. */
export class FollowFile {
  readonly #path: string;
  #entries: z.infer<typeof Stored> = [];
  readonly #save = coalesced(() => writeJsonFile(this.#path, this.#entries, 0o600));

  private constructor(path: string) {
    this.#path = path;
  }

  /** Rejects for a damaged file; with `onDamaged` it counts as empty, and the first change replaces its content. */
  static async open(path: string, onDamaged?: (error: unknown) => void): Promise<FollowFile> {
    const file = new FollowFile(path);
    try {
      file.#entries = (await readJsonFile(path, (value) => Stored.parse(value))) ?? [];
    } catch (error) {
      if (onDamaged === undefined) throw error;
      onDamaged(error);
    }
    return file;
  }

  /** Users with followed repositories; `undefined`: the host's own. */
  get accounts(): ReadonlySet<string | undefined> {
    return new Set(this.#entries.map(({ account }) => account));
  }

  of(account: string | undefined): readonly FollowEntry[] {
    return this.#entries
      .filter((entry) => entry.account === account)
      .map(({ account: _, ...entry }) => entry);
  }

  /** Changes before a write begins share it. */
  set(account: string | undefined, entries: readonly FollowEntry[]): Promise<void> {
    const others = this.#entries.filter((entry) => entry.account !== account);
    this.#entries = [...others, ...entries.map((entry) => ({ ...entry, account }))];
    return this.#save();
  }
}
