import { z } from "zod";
import { Emitter } from "../lib/emitter.ts";
import { readJsonFile, writeJsonFile } from "../lib/json-file.ts";
import type { Log } from "../log.ts";
import { MAX_REVOKED_TOKENS, TOKEN_LIFETIME_S } from "../protocol/limits.ts";

type Store = (write: () => Promise<void>) => Promise<void>;

/** A token as far as revoking it goes: its `jti`, its `exp` and, where it is shown, its `iat`, in seconds since 1970. */
export type RevocableToken = {
  readonly id: string;
  readonly expiresAtS: number;
  readonly issuedAtS?: number;
};

const Stored = z.object({
  version: z.literal(1),
  /** Every token that expires no later than this is refused, in seconds since 1970. */
  refusedUpToS: z.number(),
  /** Every token that was issued before this is refused: those of share links expire later than that. */
  refusedBeforeS: z.number().default(0),
  tokens: z.array(z.tuple([z.string(), z.number()])).max(MAX_REVOKED_TOKENS),
});

/**
 * The tokens that were revoked and have not expired, kept in a file so that they stay revoked after a restart
 * (contract 5.3). At most MAX_REVOKED_TOKENS: over that the one that expires first is forgotten and with it every
 * token that expires no later is refused. So a revoked token never comes back; at worst people log in again.
 */
export class Revocations {
  readonly #path: string;
  readonly #now: () => number;
  readonly #tokens = new Map<string, number>();
  readonly #added = new Emitter<string>();
  readonly #store: Store;
  #refusedUpToS = 0;
  #refusedBeforeS = 0;
  #written: Promise<void> = Promise.resolve();

  private constructor(path: string, now: () => number, store: Store) {
    this.#path = path;
    this.#now = now;
    this.#store = store;
  }

  /**
   * Reads the file, if there is one. A damaged one is logged, and all tokens issued so far are refused.
   * `now`: milliseconds since 1970.
   */
  static async open(options: {
    readonly path: string;
    readonly now: () => number;
    readonly log: Pick<Log, "warn">;
    /** Who sees to it that the file is written, be it later, and one write after the other. */
    readonly store?: Store;
  }): Promise<Revocations> {
    const { path, now, store = (write) => write() } = options;
    const revocations = new Revocations(path, now, store);
    try {
      revocations.#load(await readJsonFile(options.path, (value) => Stored.parse(value)));
    } catch (error) {
      options.log.warn({ error }, "list of revoked tokens is unreadable: everyone has to log in again");
      revocations.#refusedBeforeS = Math.floor(options.now() / 1000);
      revocations.#refusedUpToS = revocations.#refusedBeforeS + TOKEN_LIFETIME_S - 1;
      await revocations.#save();
    }
    return revocations;
  }

  has({ id, expiresAtS, issuedAtS = Number.POSITIVE_INFINITY }: RevocableToken): boolean {
    return expiresAtS <= this.#refusedUpToS || issuedAtS < this.#refusedBeforeS || this.#tokens.has(id);
  }

  /** Revokes at once; resolves when that is on disk, rejects when it could not be kept beyond a restart. */
  async add(token: RevocableToken): Promise<void> {
    this.#tokens.set(token.id, token.expiresAtS);
    this.#forgetExpired();
    while (this.#tokens.size > MAX_REVOKED_TOKENS) this.#forgetFirst();
    this.#added.emit(token.id);
    await this.#save();
  }

  /** Tells the id of each token at the moment it is revoked. */
  watch(listener: (tokenId: string) => void): Disposable {
    return this.#added.on(listener);
  }

  #load(stored: z.infer<typeof Stored> | undefined): void {
    this.#refusedUpToS = stored?.refusedUpToS ?? 0;
    this.#refusedBeforeS = stored?.refusedBeforeS ?? 0;
    for (const [id, expiresAtS] of stored?.tokens ?? []) this.#tokens.set(id, expiresAtS);
  }

  #forgetExpired(): void {
    const nowS = Math.floor(this.#now() / 1000);
    for (const [id, expiresAtS] of this.#tokens) if (expiresAtS <= nowS) this.#tokens.delete(id);
  }

  #forgetFirst(): void {
    let first: RevocableToken | undefined;
    for (const [id, expiresAtS] of this.#tokens) {
      if (first === undefined || expiresAtS < first.expiresAtS) first = { id, expiresAtS };
    }
    if (first === undefined) return;
    this.#tokens.delete(first.id);
    this.#refusedUpToS = Math.max(this.#refusedUpToS, first.expiresAtS);
  }

  /** One write after the other, so that the last state is what stays. */
  #save(): Promise<void> {
    const write = (): Promise<void> => {
      const [refusedUpToS, refusedBeforeS] = [this.#refusedUpToS, this.#refusedBeforeS];
      const stored = { version: 1, refusedUpToS, refusedBeforeS, tokens: [...this.#tokens] };
      return writeJsonFile(this.#path, stored, 0o600);
    };
    const store = (): Promise<void> => this.#store(write);
    this.#written = this.#written.then(store, store);
    return this.#written;
  }
}
