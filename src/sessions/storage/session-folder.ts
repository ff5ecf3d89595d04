// The place on disk that a session needs before it is started.
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { allOpened, isErrno } from "../../lib/fs/atomic-file.ts";
import { diskFault } from "../../lib/fs/disk-care.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { createFiles, type JournalFiles } from "../journal/journal.ts";
import type { SessionFiles } from "./control-dir.ts";

/** Descriptors of a terminal, its program and its files, and a reserve. */
const NEEDED_DESCRIPTORS = 16;

export type NewFolder = { readonly journal: JournalFiles; readonly record: FileHandle };

/** Throws `session_exists`, `disk_failed`, `out_of_descriptors`, `launch_failed`. */
export async function createFolder(
  id: string,
  files: SessionFiles,
  descriptors: { readonly left: number },
): Promise<NewFolder> {
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
  if (fault !== undefined) {
    return new ServiceError("disk_failed", `the session could not be started: ${fault}`, { cause });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError("launch_failed", `the session could not be started: ${reason}`, { cause });
}
