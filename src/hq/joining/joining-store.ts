// Where an HQ keeps its join tokens and the keys of its remotes: in a file, or in Redis (redis-joining-store.ts).
import { z } from "zod";
import { Mutex } from "../../lib/async/mutex.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";

export type JoiningTable = "tokens" | "keys";

/** One entry as it is read, and as it is to be; `undefined`: not there. */
export type JoiningChange = {
  readonly table: JoiningTable;
  readonly id: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** Texts by id. The store does not know what they say. */
export type JoiningStore = {
  get(table: JoiningTable, id: string): Promise<string | undefined>;
  all(table: JoiningTable): Promise<ReadonlyMap<string, string>>;
  /** Makes all changes as one step, or none: false where an entry is not as it was before. */
  commit(changes: readonly JoiningChange[]): Promise<boolean>;
};

const OWNER_ONLY = 0o600;
const Stored = z.object({
  version: z.literal(1),
  tokens: z.record(z.string(), z.string()),
  keys: z.record(z.string(), z.string()),
});

type Tables = Readonly<Record<JoiningTable, ReadonlyMap<string, string>>>;

/** The store of one HQ alone. What the disk does not take is not done. */
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
