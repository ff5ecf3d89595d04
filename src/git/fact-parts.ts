import type { Slots } from "../lib/slots.ts";
import type { Log } from "../log.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import type { Git } from "./git.ts";
import type { WatchQuota } from "./watch-quota.ts";

/** What may well go another time. */
export const PASSING: ReadonlySet<ErrorCode> = new Set(["git_timeout", "git_busy"]);

/** What everything that knows git facts has in common. */
export type FactParts = {
  /** A git that has read no config yet; its questions end when all is over. */
  readonly git: (cwd: string, account: string | undefined) => Git;
  readonly quota: WatchQuota;
  readonly slots: Slots;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly isOver: () => boolean;
};
