// Stores the join tokens and the keys of remotes: in a file, or in Redis (redis-joining-store.ts).
import { z } from "zod";
import { Mutex } from "../../lib/async/mutex.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";

export type JoiningTable = "tokens" | "keys";

/** An entry before and after a change; `undefined`: there is none. */
export type JoiningChange = {
  readonly table: JoiningTable;
  readonly id: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** Opaque texts by id. */
export type JoiningStore = {
  get(table: JoiningTable, id: string): Promise<string | undefined>;
  all(table: JoiningTable): Promise<ReadonlyMap<string, string>>;
  /** Makes all changes atomically. Returns false, and makes none, if an entry is not as it was `before`. */
  commit(changes: readonly JoiningChange[]): Promise<boolean>;
};

const OWNER_ONLY = 0o600;
const Stored = z.object({
  version: z.literal(1),
  tokens: z.record(z.string(), z.string()),
  keys: z.record(z.string(), z.string()),
});

type Tables = Readonly<Record<JoiningTable, ReadonlyMap<string, string>>>;

/** The store of a single HQ. A change that cannot be written to disk is not made. */
export class JoiningFile implements JoiningStore {
  readonly #path: string;
  readonly #mutex = new Mutex();
  #tables: Tables;

  private constructor(path: string, tables: Tables) {
    this.#path = path;
    this.#tables = tables;
  }

  static async open(path: string): Promise<JoiningFile> {
    const { tokens = {}, keys = {} } = (await readJsonFile(path, (value) => Stored.parse(value))) ?? {};
    const tables = { tokens: new Map(Object.entries(tokens)), keys: new Map(Object.entries(keys)) };
    return new JoiningFile(path, tables);
  }

  async get(table: JoiningTable, id: string): Promise<string | undefined> {
    return this.#tables[table].get(id);
  }

  async all(table: JoiningTable): Promise<ReadonlyMap<string, string>> {
    return this.#tables[table];
  }

  commit(changes: readonly JoiningChange[]): Promise<boolean> {
    return this.#mutex.take(async () => {
      const isAsBefore = changes.every(({ table, id, before }) => this.#tables[table].get(id) === before);
      if (!isAsBefore) return false;
      const tables = { tokens: new Map(this.#tables.tokens), keys: new Map(this.#tables.keys) };
      for (const { table, id, after } of changes) {
        if (after === undefined) tables[table].delete(id);
        else tables[table].set(id, after);
      }
      const [tokens, keys] = [Object.fromEntries(tables.tokens), Object.fromEntries(tables.keys)];
      await writeJsonFile(this.#path, { version: 1, tokens, keys }, OWNER_ONLY);
      this.#tables = tables;
      return true;
    });
  }
}
