import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import { KILLED } from "../git-process.ts";
import type { WatchQuota } from "./watch-quota.ts";

const PASSING: ReadonlySet<ErrorCode> = new Set(["git_timeout", "git_busy"]);

/** Whether it says nothing about a repository: git had no time or no turn, or was killed. */
export function isPassing(error: unknown): boolean {
  return error instanceof ServiceError && (PASSING.has(error.code) || error.details.exitCode === KILLED);
}

/** What everything that knows git facts has in common. */
export type FactParts = {
  /** A git that has read no config yet; its questions end when all is over. */
  readonly git: (cwd: string) => Git;
  readonly quota: WatchQuota;
  readonly slots: Semaphore;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly isOver: () => boolean;
};
