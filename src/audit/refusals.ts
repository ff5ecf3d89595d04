import { addressKey } from "../lib/net/address.ts";
import type { Audit, AuditEntry } from "./entry.ts";

const WINDOW_MS = 60_000;
/** Kinds recorded individually per window; others are only counted. */
const MAX_TOLD = 60;

type Repeated = { readonly entry: AuditEntry; more: number };

/**
 * Limits entries about refused and failed requests, which anyone can cause, to 121 lines a minute. The first of a
 * kind is recorded at once, its repetitions after a minute in one line with `times`, and kinds beyond 60 in one
 * common line.
 */
export class Refusals implements Disposable {
  readonly #audit: Audit;
  readonly #told = new Map<string, Repeated>();
  #others = 0;
  #window: NodeJS.Timeout | undefined;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  write(entry: AuditEntry): void {
    this.#window ??= setTimeout(() => this.#sum(), WINDOW_MS).unref();
    const kind = kindOf(entry);
    const told = this.#told.get(kind);
    if (told !== undefined) {
      told.more += 1;
      return;
    }
    if (this.#told.size >= MAX_TOLD) {
      this.#others += 1;
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
    for (const { entry, more } of this.#told.values()) {
      if (more > 0) this.#audit.write(summary(entry, more));
    }
    if (this.#others > 0) {
      this.#audit.write({ action: "request", result: "refused", details: { times: this.#others } });
    }
    this.#told.clear();
    this.#others = 0;
  }
}

/** Without the id, which differs between the requests. */
function summary({ requestId: _, ...entry }: AuditEntry, times: number): AuditEntry {
  return { ...entry, details: { ...entry.details, times } };
}

function kindOf({ action, user, method, address, details }: AuditEntry): string {
  return JSON.stringify([action, user, method, addressKey(address), details?.code]);
}
