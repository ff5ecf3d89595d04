import { MAX_SILENT_REMOTES, SILENT_REMOTE_MEMORY_MS } from "../../protocol/limits.ts";

/** The name of a remote that was removed because it did not answer, and when: ISO 8601. */
export type Silence = { readonly name: string; readonly since: string };

/**
 * Remotes that fell silent within SILENT_REMOTE_MEMORY_MS and are not back. At most MAX_SILENT_REMOTES: over that the
 * one that was silent first is forgotten.
 */
export class Silences {
  readonly #now: () => Date;
  /** By name, the latest last. */
  readonly #sinceByName = new Map<string, string>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  begin(name: string): void {
    this.#put({ name, since: this.#now().toISOString() });
  }

  end(name: string): void {
    this.#sinceByName.delete(name);
  }

  /** What was kept elsewhere, the latest last. */
  restore(silences: readonly Silence[]): void {
    for (const silence of silences) this.#put(silence);
  }

  /** The latest last. */
  get recent(): readonly Silence[] {
    const now = this.#now().getTime();
    const silences = [...this.#sinceByName].map(([name, since]) => ({ name, since }));
    // A clock that was set back is no reason to keep one for longer, nor to forget it at once.
    return silences.filter(({ since }) => Math.abs(now - Date.parse(since)) < SILENT_REMOTE_MEMORY_MS);
  }

  #put({ name, since }: Silence): void {
    this.#sinceByName.delete(name);
    for (const oldest of this.#sinceByName.keys()) {
      if (this.#sinceByName.size < MAX_SILENT_REMOTES) break;
      this.#sinceByName.delete(oldest);
    }
    this.#sinceByName.set(name, since);
  }
}
