// The records of a single server, in a file of its control directory or in memory.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { coalesced } from "../../lib/async/mutex.ts";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import {
  LiveRecords,
  localRecords,
  type RecordStore,
  type TicketStore,
} from "../../lib/data/live-records.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";

const Stored = z.object({
  version: z.literal(1),
  instance: z.uuid(),
  records: z.array(
    z.object({ id: z.string(), kind: z.string(), expiresAtS: z.number(), value: z.unknown() }),
  ),
});

type FileRecordsOptions = {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, "warn">;
  /** Retries failed writes; settles as the first try does. */
  readonly store?: (write: () => Promise<void>) => Promise<void>;
};

/** A lost or damaged file logs everybody out; one that cannot be read rejects with the system's error. */
export async function openFileRecords(options: FileRecordsOptions): Promise<RecordStore> {
  const { path, now, log, store = (write) => write() } = options;
  const records = new LiveRecords(now);
  const stored = await readJsonFile(path, (value) => Stored.parse(value)).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    log.warn({ error }, "list of logins is damaged: everyone has to log in again");
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
  return recordStore(instance, records, save);
}

/** For mode "none": tokens end with the process. */
export function memoryRecords(now: () => number): RecordStore {
  return recordStore(randomUUID(), new LiveRecords(now), async () => {});
}

function recordStore(instanceId: string, records: LiveRecords, save: () => Promise<void>): RecordStore {
  return { ...localRecords(records, save), instanceId, tickets: memoryTickets(() => performance.now()) };
}

export function memoryTickets(now: () => number): TicketStore {
  const kinds = new Map<string, ExpiringMap<string, string>>();
  return {
    put: async (kind, hash, text) => {
      const tickets = kinds.get(kind.name) ?? new ExpiringMap<string, string>({ ...kind, now });
      kinds.set(kind.name, tickets);
      tickets.set(hash, text);
    },
    take: async ({ name }, hash) => kinds.get(name)?.take(hash),
  };
}
