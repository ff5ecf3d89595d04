// The place on disk that a session needs before it is started.
import { mkdir } from "node:fs/promises";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { diskFault } from "../../lib/fs/disk-care.ts";
import { ServiceError } from "../../protocol/errors.ts";

/** Descriptors of a terminal, its program and its journal, and a reserve. */
const NEEDED_DESCRIPTORS = 16;

/** Throws `session_exists`, `disk_failed`, `out_of_descriptors`, `launch_failed`. */
export async function makeFolder(
  id: string,
  path: string,
  descriptors: { readonly left: number },
): Promise<void> {
  if (descriptors.left < NEEDED_DESCRIPTORS) throw new ServiceError("out_of_descriptors", NO_DESCRIPTORS);
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw launchFailed(error, path);
    throw new ServiceError("session_exists", `there are files of a session ${id} already`);
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
