// The records of a single server, in a file of its control directory or in memory.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import {
  type LiveRecord,
  LiveRecords,
  type RecordStore,
  type TicketKind,
  type TicketStore,
} from "../../lib/data/live-records.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";

const Stored = z.object({
  version: z.literal(1),
  instance: z.uuid(),
  records: z.array(
    z.object({ id: z.string(), kind: z.string(), expiresAtS: z.number(), value: z.unknown() }),
  ),
});

export type FileRecordsOptions = {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, "warn">;
  /** Retries failed writes; settles as the first try does. */
  readonly store?: (write: () => Promise<void>) => Promise<void>;
};

type Save = () => Promise<void>;

/** A lost or damaged file logs everybody out. */
export class FileRecords implements RecordStore {
  readonly instanceId: string;
  readonly tickets: TicketStore = new MemoryTickets(() => performance.now());
  readonly #records: LiveRecords;
  readonly #save: Save;

  private constructor(instanceId: string, records: LiveRecords, save: Save) {
    this.instanceId = instanceId;
    this.#records = records;
    this.#save = save;
  }

  static async open({
    path,
    now,
    log,
    store = (write) => write(),
  }: FileRecordsOptions): Promise<FileRecords> {
    const records = new LiveRecords(now);
    const stored = await readJsonFile(path, (value) => Stored.parse(value)).catch((error: unknown) => {
      log.warn({ error }, "list of logins is unreadable: everyone has to log in again");
      return undefined;
    });
    for (const record of stored?.records ?? []) records.put(record);
    const instance = stored?.instance ?? randomUUID();
    const write = (): Promise<void> =>
      writeJsonFile(path, { version: 1, instance, records: records.all() }, 0o600);
    const save = coalesced(() => store(write));
    // Also tokens without a record name the instance, so it is stored at once.
    if (stored === undefined) {
      await save().catch((error: unknown) => log.warn({ error }, "list of logins not stored yet"));
    }
    return new FileRecords(instance, records, save);
  }

  /** For mode "none": tokens end with the process. */
  static inMemory(now: () => number): FileRecords {
    return new FileRecords(randomUUID(), new LiveRecords(now), async () => {});
  }

  get(id: string): LiveRecord | undefined {
    return this.#records.get(id);
  }

  async find(id: string): Promise<LiveRecord | undefined> {
    return this.get(id);
  }

  list(kind: string): readonly LiveRecord[] {
    return this.#records.list(kind);
  }

  async put(record: LiveRecord): Promise<void> {
    if (this.#records.put(record)) await this.#save();
  }

  async end(records: readonly Pick<LiveRecord, "id" | "expiresAtS">[]): Promise<void> {
    for (const { id, expiresAtS } of records) this.#records.end(id, expiresAtS);
    if (records.length > 0) await this.#save();
  }

  watch(listener: (id: string) => void): Disposable {
    return this.#records.watch(listener);
  }
}

/** One write at a time; all calls in the meantime share the next one. */
function coalesced(write: Save): Save {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        running = write();
        return running;
      });
    return next;
  };
}

export class MemoryTickets implements TicketStore {
  readonly #now: () => number;
  readonly #kinds = new Map<string, ExpiringMap<string, string>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async put(kind: TicketKind, hash: string, text: string): Promise<void> {
    const tickets =
      this.#kinds.get(kind.name) ?? new ExpiringMap<string, string>({ ...kind, now: this.#now });
    this.#kinds.set(kind.name, tickets);
    tickets.set(hash, text);
  }

  async take({ name }: TicketKind, hash: string): Promise<string | undefined> {
    return this.#kinds.get(name)?.take(hash);
  }
}
