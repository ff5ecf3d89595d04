// What may be wrong with a disk that was right before and may be right again.
import { isErrno } from "./atomic-file.ts";

/** What to tell of each: the fault, and the way out. `path` is on the disk. */
const FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: (path) => `the disk of ${path} has no space or no inodes left: make room there`,
  EDQUOT: (path) => `the quota on the disk of ${path} is used up: make room there`,
  EROFS: (path) => `the disk of ${path} is read-only: mount it writable`,
  EIO: (path) => `the disk of ${path} fails: look into the system's log`,
};

/** What the system was short of at that moment, and a disk on the network that did not answer in time. */
const SHORTAGES = ["EMFILE", "ENFILE", "ENOMEM", "ETIMEDOUT"];

/** Of what may pass by itself, or when somebody sees to it: what could not be written is worth another try. */
export function isDiskFault(error: unknown): boolean {
  return [...Object.keys(FAULTS), ...SHORTAGES].some((code) => isErrno(error, code));
}

/** The fault as a sentence; undefined for an error that is none. */
export function diskFault(error: unknown, path: string): string | undefined {
  return Object.entries(FAULTS).find(([code]) => isErrno(error, code))?.[1](path);
}
