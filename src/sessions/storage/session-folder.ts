// The folder of a session on disk: created before the start, removed as a whole.
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { allOpened, isErrno, unlessMissing } from "../../lib/fs/atomic-file.ts";
import { diskFault } from "../../lib/fs/disk-care.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
import { SESSION_ID } from "../../protocol/schemas/session.ts";
import { createFiles, type JournalFiles } from "../journal/journal.ts";
import { type SessionFiles, sessionFiles } from "./control-dir.ts";

/** Descriptors of a terminal, its program and its files, and a reserve. */
const NEEDED_DESCRIPTORS = 16;
/** Marks folders that are being removed: no session id. */
const REMOVED_PREFIX = ".removed-";

/** Throws `session_exists`, `disk_failed`, `out_of_descriptors`, `launch_failed`. */
export async function createFolder(
  id: string,
  files: SessionFiles,
  descriptors: { readonly left: number },
): Promise<{ readonly journal: JournalFiles; readonly record: FileHandle }> {
  if (descriptors.left < NEEDED_DESCRIPTORS) throw new ServiceError("out_of_descriptors", NO_DESCRIPTORS);
  const { directory } = files;
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw launchFailed(error, directory);
    throw new ServiceError("session_exists", `there are files of a session ${id} already`);
  }
  try {
    const [journal, record] = await allOpened([createFiles(files), open(files.record, "wx", 0o600)]);
    return { journal, record };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw launchFailed(error, directory);
  }
}

const NO_DESCRIPTORS =
  "the session could not be started: the session host has no file descriptors left. End another session, or let it have more (LimitNOFILE of its unit, or ulimit -n)";

/** The error of a failed start of a session with files in `folder`. */
export function launchFailed(cause: unknown, folder: string): ServiceError {
  const fault = diskFault(cause, folder);
  const reason = fault ?? errorMessage(cause);
  const code = fault === undefined ? "launch_failed" : "disk_failed";
  return new ServiceError(code, `the session could not be started: ${reason}`, { cause });
}

/** Renames the folder first, so that a crash leaves no half session. Repeated, it spares a later session of that id. */
export function folderRemoval(directory: string): () => Promise<void> {
  const removed = join(dirname(directory), `${REMOVED_PREFIX}${basename(directory)}-${randomUUID()}`);
  const setAside = (): Promise<void> => rename(directory, removed).catch(unlessMissing);
  let isAside = false;
  return async () => {
    if (!isAside) await setAside().catch((error: unknown) => makeRoom(error, directory).then(setAside));
    isAside = true;
    await rm(removed, { recursive: true, force: true });
  };
}

/** On a full disk there may be no block for another name. All but the record goes, by which it can be removed again. */
async function makeRoom(error: unknown, directory: string): Promise<void> {
  if (!isErrno(error, "ENOSPC") && !isErrno(error, "EDQUOT")) throw error;
  const { output, events, recording, checkpoint } = sessionFiles(directory);
  for (const path of [recording, output, events, checkpoint]) await rm(path, { force: true });
}

/** Names of the session folders, not of others; completes removals of an earlier process. */
export async function sessionFolders(
  directory: string,
  onFailure: (name: string, error: unknown) => void,
): Promise<readonly string[]> {
  const names = await readdir(directory);
  for (const name of names.filter((each) => each.startsWith(REMOVED_PREFIX))) {
    await rm(join(directory, name), { recursive: true, force: true }).catch((error: unknown) =>
      onFailure(name, error),
    );
  }
  return names.filter((name) => SESSION_ID.test(name));
}
