// Tables of sealed texts that an HQ stores: in a file (tables-file.ts), or in Redis for several HQs (redis-tables.ts).
import type { z } from "zod";
import type { Seal } from "../../lib/seal.ts";

/** Remotes by name; join tokens by hash; keys of remotes by name; logins and share links by id. */
export type TableName = "remotes" | "tokens" | "keys" | "records";

/** An entry before and after a change; `undefined`: there is none. */
export type TableChange = {
  readonly table: TableName;
  readonly id: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** Changed entries of a table. `isWhole`: all entries, at the start and when changes may have been missed. */
export type TableUpdate = {
  readonly table: TableName;
  readonly isWhole: boolean;
  readonly entries: ReadonlyMap<string, string | undefined>;
};

export type Tables = {
  get(table: TableName, id: string): Promise<string | undefined>;
  all(table: TableName): Promise<ReadonlyMap<string, string>>;
  /**
   * Makes all changes atomically. False, and makes none, if an entry is not as it was `before`. In both cases listeners
   * have heard of the stored entries when this resolves. Rejects if the changes could not be stored.
   */
  commit(changes: readonly TableChange[]): Promise<boolean>;
};

/** The store of the registry. It logs failures. */
export type RegistryTables = Tables & {
  /** Tells all remotes, and shared records, to the listeners. Call it once, before anything else. */
  load(): Promise<void>;
  /** Whether the store can be reached and takes changes. */
  readonly isConnected: boolean;
  watch(listener: (update: TableUpdate) => void): Disposable;
};

export type Entry<T> = { readonly text: string; readonly value: T };

/** One table, whose entries are sealed: write access to the store is not enough to add or to change one. */
export class SealedTable<T extends object> {
  readonly #tables: Pick<Tables, "get" | "all">;
  readonly #seal: Seal;
  readonly #name: TableName;
  readonly #schema: z.ZodType<T>;

  constructor(tables: Pick<Tables, "get" | "all">, seal: Seal, name: TableName, schema: z.ZodType<T>) {
    this.#tables = tables;
    this.#seal = seal;
    this.#name = name;
    this.#schema = schema;
  }

  async get(id: string): Promise<Entry<T> | undefined> {
    const text = await this.#tables.get(this.#name, id);
    const value = text === undefined ? undefined : this.open(id, text);
    return text === undefined || value === undefined ? undefined : { text, value };
  }

  /** By id; without entries that cannot be opened. */
  async all(): Promise<ReadonlyMap<string, Entry<T>>> {
    const entries = new Map<string, Entry<T>>();
    for (const [id, text] of await this.#tables.all(this.#name)) {
      const value = this.open(id, text);
      if (value !== undefined) entries.set(id, { text, value });
    }
    return entries;
  }

  /** Undefined for an entry that was sealed with another secret or has another form. */
  open(id: string, text: string): T | undefined {
    return this.#seal.openJson(`${this.#name} ${id}`, text, this.#schema);
  }

  change(id: string, before: string | undefined, after: T | undefined): TableChange {
    const sealed = after && this.#seal.seal(`${this.#name} ${id}`, JSON.stringify(after));
    return { table: this.#name, id, before, after: sealed };
  }
}
