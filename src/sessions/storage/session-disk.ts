import type { FileHandle } from "node:fs/promises";
import { KeyedMutex, Mutex } from "../../lib/async/mutex.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { jsonFileBytes, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { DiskCare } from "../../lib/fs/disk-care.ts";
import type { Log } from "../../log.ts";
import { writeRecording } from "../journal/recording.ts";
import type { Session } from "../session.ts";
import { repairJournal } from "./recovery.ts";
import { folderRemoval } from "./session-folder.ts";

const NOT_STORED = "session not stored";

/** Writes and removals of one session are serialised, and so are all recordings. Failures are logged or retried. */
export class SessionDisk {
  readonly #log: Pick<Log, "error">;
  readonly #care: DiskCare;
  readonly #recordings = new Mutex();
  /** Syncs of first records. Each would take a thread away from the files of the next new sessions. */
  readonly #syncs = new Mutex();
  readonly #mutexes = new KeyedMutex();
  readonly #removed = new WeakSet<Session>();

  constructor(log: Pick<Log, "error">, care: DiskCare) {
    this.#log = log;
    this.#care = care;
  }

  async writeRecord(session: Session): Promise<void> {
    await this.#write(session, NOT_STORED, () => writeRecord(session));
  }

  /** Does not sync the new, empty `file` of the record: that would double the duration of a start. */
  async writeFirstRecord(session: Session, file: FileHandle): Promise<void> {
    // Only once: another write would continue behind the refused one.
    const isWritten = succeeded(file.writeFile(jsonFileBytes(session.stored)));
    await this.#write(session, NOT_STORED, async () => {
      if (!(await isWritten)) await writeRecord(session);
    });
  }

  /** Closes `file`. Resolves when it would outlive a crash of the machine: the sync of a new file includes its name. */
  async syncFirstRecord(session: Session, file: FileHandle): Promise<void> {
    await using record = file;
    const sync = (): Promise<void> => record.sync().catch(() => writeRecord(session));
    await this.#syncs.take(() => this.#write(session, NOT_STORED, sync));
  }

  /** Of an ended session, after its record. */
  async writeRecording(session: Session): Promise<void> {
    const { journal, files } = session;
    const write = async (): Promise<void> => {
      // The recording would be incomplete. The journal of an earlier host may be.
      if (journal?.failure !== undefined) throw journal.failure;
      if (journal === undefined) await repairJournal(files, session.stored.exit);
      await writeRecording(session.stored, files);
    };
    await this.#recordings.take(() => this.#write(session, "recording not written", write));
  }

  /** Stops all writes of the session. Rejects on a disk failure, and tries again. */
  async remove(session: Session): Promise<void> {
    this.#removed.add(session);
    const remove = folderRemoval(session.files.directory);
    await this.#care.insist(`${session.key} not removed`, () => this.#mutexes.take(session.key, remove));
  }

  async #write(session: Session, failure: string, write: () => Promise<void>): Promise<void> {
    const locked = (): Promise<void> =>
      this.#mutexes.take(session.key, async () => {
        if (!this.#removed.has(session)) await write();
      });
    try {
      await this.#care.attempt(`${session.key} ${failure}`, locked);
    } catch (error) {
      this.#log.error({ session: session.id, error }, failure);
    }
  }
}

async function writeRecord({ files, stored }: Session): Promise<void> {
  await writeJsonFile(files.record, stored, 0o600);
}
