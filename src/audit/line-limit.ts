import { addressKey } from "../lib/net/address.ts";
import type { Audit, AuditActionName, AuditEntry } from "./entry.ts";

const WINDOW_MS = 60_000;
/** Remotes with a password choose their names. */
const MAX_REMOTE_KINDS = 1_000;

/** `more`: how many entries of the kind were not recorded. */
type Repeated = { entry: AuditEntry; more: number };

type LineLimitOptions = {
  readonly audit: Audit;
  /** Kinds recorded individually per minute; others are only counted. */
  readonly maxKinds: number;
  /** The common line of the others. */
  readonly others: AuditEntry;
};

/**
 * Limits entries that callers cause as often as they like to two lines a minute for each of `maxKinds` kinds, and one
 * for all others. The first of a kind is recorded at once. Its repetitions have one line after a minute: the last of
 * them, with `times`.
 */
export class LineLimit implements Disposable {
  readonly #options: LineLimitOptions;
  readonly #told = new Map<string, Repeated>();
  #moreOthers = 0;
  #window: NodeJS.Timeout | undefined;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  write(entry: AuditEntry, kind = callerKind(entry)): void {
    this.#window ??= setTimeout(() => this.#sum(), WINDOW_MS).unref();
    const told = this.#told.get(kind);
    if (told !== undefined) {
      told.entry = entry;
      told.more += 1;
    } else if (this.#told.size < this.#options.maxKinds) {
      this.#told.set(kind, { entry, more: 0 });
      this.#options.audit.write(entry);
    } else {
      this.#moreOthers += 1;
    }
  }

  [Symbol.dispose](): void {
    this.#sum();
  }

  #sum(): void {
    clearTimeout(this.#window);
    this.#window = undefined;
    const { audit, others } = this.#options;
    for (const { entry, more } of [...this.#told.values(), { entry: others, more: this.#moreOthers }]) {
      if (more > 0) audit.write(summary(entry, more));
    }
    this.#told.clear();
    this.#moreOthers = 0;
  }
}

/** For actions of remotes, which no rate limit counts. `action`: of the common line. */
export function remoteLineLimit(audit: Audit, action: AuditActionName): LineLimit {
  return new LineLimit({ audit, maxKinds: MAX_REMOTE_KINDS, others: { action, result: "ok" } });
}

/** Without the id, which differs between the requests. */
function summary({ requestId: _, ...entry }: AuditEntry, times: number): AuditEntry {
  return { ...entry, details: { ...entry.details, times } };
}

function callerKind({ action, user, method, address, details }: AuditEntry): string {
  return JSON.stringify([action, user, method, addressKey(address), details?.code]);
}
