// The tables of a single HQ, in a file that is written as a whole.
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import { RetryTimer } from "../../lib/async/retry-timer.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { RegistryTables, TableChange, TableName, TableUpdate } from "./tables.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
const OWNER_ONLY = 0o600;

/** Texts by id. */
export type TableTexts = Readonly<Record<TableName, ReadonlyMap<string, string>>>;

export type TableFile = {
  load(): Promise<TableTexts>;
  save(texts: TableTexts): Promise<void>;
};

export const NO_TEXTS: TableTexts = {
  ...{ remotes: new Map(), tokens: new Map(), keys: new Map(), records: new Map() },
};

export type TablesFileOptions = {
  readonly file: TableFile;
  /** Called for the first of successive failures, and for the success after them. */
  readonly onSaveFailure?: (error: unknown) => void;
  readonly onSavedAgain?: () => void;
};

type Commit = PromiseWithResolvers<boolean> & { readonly changes: readonly TableChange[] };

/**
 * A change that cannot be written is not made. Then the file is written again until that succeeds, first after half a
 * second, then less often, at least every 5 s; listeners hear of all remotes once more, to repeat what was not stored.
 */
export class TablesFile implements RegistryTables, AsyncDisposable {
  readonly #options: TablesFileOptions;
  readonly #changes = new Emitter<TableUpdate>();
  readonly #retry = new RetryTimer({
    firstMs: FIRST_RETRY_MS,
    maxMs: MAX_RETRY_MS,
    retry: () => void this.commit([]).catch(() => {}),
  });
  /** As in the file. */
  #texts = NO_TEXTS;
  /** Commits for the next write. */
  readonly #commits: Commit[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: TablesFileOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return !this.#retry.isStarted;
  }

  async load(): Promise<void> {
    this.#texts = await this.#options.file.load();
    this.#tellAll();
  }

  async get(table: TableName, id: string): Promise<string | undefined> {
    return this.#texts[table].get(id);
  }

  async all(table: TableName): Promise<ReadonlyMap<string, string>> {
    return this.#texts[table];
  }

  /** One write at a time, each with all waiting commits: a thousand concurrent registrations cost two writes. */
  commit(changes: readonly TableChange[]): Promise<boolean> {
    const commit = { ...Promise.withResolvers<boolean>(), changes };
    this.#commits.push(commit);
    this.#writing ??= this.#writeAll();
    return commit.promise;
  }

  watch(listener: (change: TableUpdate) => void): Disposable {
    return this.#changes.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    this.#retry[Symbol.dispose]();
  }

  async #writeAll(): Promise<void> {
    while (this.#commits.length > 0) await this.#write(this.#commits.splice(0));
    this.#writing = undefined;
  }

  async #write(commits: readonly Commit[]): Promise<void> {
    const { remotes, tokens, keys, records } = this.#texts;
    const texts = {
      ...{ remotes: new Map(remotes), tokens: new Map(tokens) },
      ...{ keys: new Map(keys), records: new Map(records) },
    };
    const done = commits.filter(({ changes }) => {
      if (changes.some(({ table, id, before }) => texts[table].get(id) !== before)) return false;
      for (const { table, id, after } of changes) {
        if (after === undefined) texts[table].delete(id);
        else texts[table].set(id, after);
      }
      return true;
    });
    try {
      if (done.length > 0) await this.#options.file.save(texts);
    } catch (error) {
      if (this.isConnected) this.#options.onSaveFailure?.(error);
      this.#retry.start();
      for (const { reject } of commits) reject(error);
      return;
    }
    this.#texts = texts;
    for (const { changes } of done) this.#tell(changes);
    for (const commit of commits) commit.resolve(done.includes(commit));
    if (this.isConnected || done.length === 0) return;
    this.#retry.stop();
    this.#options.onSavedAgain?.();
    this.#tellAll();
  }

  #tell(changes: readonly TableChange[]): void {
    for (const [table, own] of Map.groupBy(changes, ({ table }) => table)) {
      const entries = new Map(own.map(({ id, after }) => [id, after]));
      this.#changes.emit({ table, isWhole: false, entries });
    }
  }

  #tellAll(): void {
    this.#changes.emit({ table: "remotes", isWhole: true, entries: this.#texts.remotes });
  }
}

/** Earlier versions stored a list of remotes, which register again within a minute. */
const Texts = z
  .union([z.record(z.string(), z.string()), z.array(z.unknown()).transform(() => ({}))])
  .default({})
  .transform((texts) => new Map(Object.entries(texts)));
const Stored = z
  .object({ version: z.literal(1), remotes: Texts, tokens: Texts, keys: Texts, records: Texts })
  .transform(({ version: _, ...texts }) => texts);

export function tableFile(path: string): TableFile {
  return {
    load: async () => (await readJsonFile(path, (value) => Stored.parse(value))) ?? NO_TEXTS,
    save: async (texts) => {
      const stored = Object.entries(texts).map(([table, entries]) => [table, Object.fromEntries(entries)]);
      await writeJsonFile(path, { version: 1, ...Object.fromEntries(stored) }, OWNER_ONLY);
    },
  };
}
