import { readFileSync, writeFileSync } from "node:fs";

/** Half of the memory that there may be: a program is ended before its host, unless that has grown as large. */
const PROGRAM_MORE = 500;
const MAX_SCORE = 1_000;

/**
 * When memory runs out the kernel ends what it takes for the worst (proc(5), oom_score_adj). Programs are to be worse than
 * the process that has all terminals; what they start is as bad as they are. Where that cannot be said it is the kernel's
 * guess alone.
 */
export function preferForOutOfMemory(pid: number): void {
  try {
    const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
    writeFileSync(`/proc/${pid}/oom_score_adj`, `${Math.min(MAX_SCORE, own + PROGRAM_MORE)}`);
  } catch {
    // Another system than Linux, or the program has ended already.
  }
}
