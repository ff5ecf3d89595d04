import { addressKey } from "../lib/net/address.ts";
import type { Audit, AuditEntry } from "./entry.ts";

const WINDOW_MS = 60_000;
/** Kinds recorded individually per window; others are only counted. */
const MAX_TOLD = 60;

/** `more`: how many entries of the kind were not recorded. */
type Repeated = { readonly entry: AuditEntry; more: number };

const OTHERS: AuditEntry = { action: "request", result: "refused" };

/**
 * Limits entries about refused and failed requests, which anyone can cause, to 121 lines a minute. The first of a
 * kind is recorded at once, its repetitions after a minute in one line with `times`, and kinds beyond 60 in one
 * common line.
 */
export class Refusals implements Disposable {
  readonly #audit: Audit;
  readonly #told = new Map<string, Repeated>();
  readonly #others = { entry: OTHERS, more: 0 };
  #window: NodeJS.Timeout | undefined;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  write(entry: AuditEntry): void {
    this.#window ??= setTimeout(() => this.#sum(), WINDOW_MS).unref();
    const kind = kindOf(entry);
    const told = this.#told.get(kind) ?? (this.#told.size < MAX_TOLD ? undefined : this.#others);
    if (told !== undefined) {
      told.more += 1;
      return;
    }
    this.#told.set(kind, { entry, more: 0 });
    this.#audit.write(entry);
  }

  [Symbol.dispose](): void {
    this.#sum();
  }

  #sum(): void {
    clearTimeout(this.#window);
    this.#window = undefined;
    for (const { entry, more } of [...this.#told.values(), this.#others]) {
      if (more > 0) this.#audit.write(summary(entry, more));
    }
    this.#told.clear();
    this.#others.more = 0;
  }
}

/** Without the id, which differs between the requests. */
function summary({ requestId: _, ...entry }: AuditEntry, times: number): AuditEntry {
  return { ...entry, details: { ...entry.details, times } };
}

function kindOf({ action, user, method, address, details }: AuditEntry): string {
  return JSON.stringify([action, user, method, addressKey(address), details?.code]);
}
