import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../lib/json-file.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_SHARES } from "../protocol/limits.ts";
import { Share, type ShareMode } from "../protocol/share.ts";
import type { AccessTokens } from "./access-token.ts";

const Kept = Share.extend({ sessionCreated: z.string() });
type Kept = z.infer<typeof Kept>;
const Stored = z.object({ version: z.literal(1), shares: z.array(Kept).max(MAX_SHARES) });

/** What a session is known by: a later one may have the same id. */
type SharedSession = { readonly id: string; readonly created: string };

/** `from`: output before that offset is not shown; `lifetimeS`: in seconds; `by`: who makes it. */
type NewLink = {
  readonly mode: ShareMode;
  readonly from: number | undefined;
  readonly lifetimeS: number;
  readonly by: string;
};

/**
 * The share links that work now, kept in a file so that they can be listed and revoked after a restart. The file holds
 * no token: what opens a session is in the link alone. At most MAX_SHARES: one more is refused.
 */
export class Shares {
  readonly #options: SharesOptions;
  #shares: readonly Kept[];
  #written: Promise<void> = Promise.resolve();

  private constructor(options: SharesOptions, shares: readonly Kept[]) {
    this.#options = options;
    this.#shares = shares;
  }

  /** Reads the file, if there is one. A damaged one is logged: what it listed works on, until it expires. */
  static async open(options: SharesOptions): Promise<Shares> {
    try {
      const stored = await readJsonFile(options.path, (value) => Stored.parse(value));
      return new Shares(options, stored?.shares ?? []);
    } catch (error) {
      options.log.warn({ error }, "list of share links is unreadable: they cannot be revoked one by one");
      return new Shares(options, []);
    }
  }

  /** Throws `too_many_shares`. */
  async create(
    session: SharedSession,
    { mode, from, lifetimeS, by }: NewLink,
  ): Promise<Share & { readonly token: string }> {
    this.#forgetExpired();
    if (this.#shares.length >= MAX_SHARES) {
      throw new ServiceError("too_many_shares", `there are ${MAX_SHARES} share links: revoke some first`);
    }
    const { tokens, now } = this.#options;
    // Whatever else is known of the session stays out of the link.
    const shared = {
      id: session.id,
      created: session.created,
      mode,
      ...(from === undefined ? {} : { from }),
    };
    const { id, token, expiresAtS } = tokens.issueShare(shared, lifetimeS);
    const times = { createdAt: iso(now()), expiresAt: iso(expiresAtS * 1000) };
    const kept = {
      id,
      sessionId: session.id,
      mode,
      history: from === undefined,
      createdBy: by,
      ...times,
      sessionCreated: session.created,
    };
    this.#shares = [...this.#shares, kept];
    try {
      await this.#save();
    } catch (error) {
      // Nobody gets the link, so there is none.
      this.#shares = this.#shares.filter((share) => share !== kept);
      throw error;
    }
    return { ...Share.parse(kept), token };
  }

  /** Those of one session, oldest first. */
  of(session: SharedSession): readonly Share[] {
    this.#forgetExpired();
    return this.#shares.filter((kept) => isOf(kept, session)).map((kept) => Share.parse(kept));
  }

  /** Who made that link; `undefined` where it is not listed. */
  creatorOf(id: string): string | undefined {
    return this.#shares.find((kept) => kept.id === id)?.createdBy;
  }

  /** Whoever came by it is out at once. Throws `share_not_found`. */
  async revoke(session: SharedSession, id: string): Promise<void> {
    const share = this.#shares.find((kept) => kept.id === id && isOf(kept, session));
    if (share === undefined) throw new ServiceError("share_not_found", `no share link ${id} of this session`);
    await this.#drop([share]);
  }

  /** A session that was removed leaves no links. */
  async forget(sessionId: string): Promise<void> {
    await this.#drop(this.#shares.filter((kept) => kept.sessionId === sessionId));
  }

  async #drop(shares: readonly Kept[]): Promise<void> {
    if (shares.length === 0) return;
    this.#shares = this.#shares.filter((kept) => !shares.includes(kept));
    const { revoke } = this.#options;
    const revoked = shares.map(({ id, expiresAt }) =>
      revoke({ id, expiresAtS: Date.parse(expiresAt) / 1000 }),
    );
    await Promise.all([...revoked, this.#save()]);
  }

  #forgetExpired(): void {
    const now = iso(this.#options.now());
    this.#shares = this.#shares.filter(({ expiresAt }) => expiresAt > now);
  }

  /** One write after the other, so that the last state is what stays. */
  #save(): Promise<void> {
    const write = (): Promise<void> =>
      writeJsonFile(this.#options.path, { version: 1, shares: this.#shares }, 0o600);
    const { store = (work: typeof write) => work() } = this.#options;
    const turn = (): Promise<void> => store(write);
    this.#written = this.#written.then(turn, turn);
    return this.#written;
  }
}

export type SharesOptions = {
  readonly path: string;
  readonly tokens: Pick<AccessTokens, "issueShare">;
  /** See Revocations.add. */
  readonly revoke: (token: { readonly id: string; readonly expiresAtS: number }) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, "warn">;
  /** See Revocations.open. */
  readonly store?: (write: () => Promise<void>) => Promise<void>;
};

function isOf(kept: Kept, { id, created }: SharedSession): boolean {
  return kept.sessionId === id && kept.sessionCreated === created;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
