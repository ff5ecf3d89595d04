import { z } from "zod";
import { type LiveRecord, putOrEnd, type RecordStore } from "../../lib/data/live-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_SHARES, MAX_SHARES_OF_USER } from "../../protocol/limits.ts";
import { Share, type ShareMode } from "../../protocol/schemas/share.ts";
import { type AccessTokens, SharedSession } from "./access-token.ts";

/** How the link's creator was authenticated: by a login here, by a proxy, or otherwise (an HQ, the server's user). */
const CreatedThrough = z.enum(["login", "proxy", "other"]);
export type Creator = {
  readonly user: string;
  readonly through: z.infer<typeof CreatedThrough>;
  /** Of a login or an API token. */
  readonly tokenId?: string | undefined;
};

const Kept = Share.extend({ ...SharedSession.shape, createdThrough: CreatedThrough.default("login") });
type Kept = z.infer<typeof Kept>;
const SHARE = "share";

/** `key`: a later session may have the same id. */
type Session = { readonly id: string; readonly key: string };

/** `from`: output before that offset is hidden. */
type NewLink = {
  readonly mode: ShareMode;
  readonly resize: boolean;
  readonly from: number | undefined;
  readonly lifetimeS: number;
  readonly by: Creator;
};

/**
 * Valid share links. The records hold no tokens. Over MAX_SHARES, or MAX_SHARES_OF_USER of one user, a new link is
 * refused. A link that an API token created ends with that token.
 */
export class Shares {
  readonly #options: SharesOptions;

  constructor(options: SharesOptions) {
    this.#options = options;
    const { records } = options;
    records.watch((tokenId) => {
      const own = this.#kept().filter(({ apiTokenId }) => apiTokenId === tokenId);
      // A failed write is repeated, and without its token a link opens nothing.
      if (own.length > 0) void records.end(own).catch(() => undefined);
    });
  }

  /** ServiceError `too_many_shares`. */
  async create(
    session: Session,
    { mode, resize, from, lifetimeS, by }: NewLink,
  ): Promise<Share & { readonly token: string }> {
    const { tokens, records, now } = this.#options;
    this.#requireRoom(by);
    const { id: sessionId, key: sessionKey } = session;
    const creator = records.get(by.tokenId ?? "");
    const apiToken = creator?.kind === "token" ? creator : undefined;
    const leftS = (apiToken?.expiresAtS ?? Infinity) - Math.floor(now() / 1000);
    const { id, token, expiresAtS } = tokens.issueShare(Math.min(lifetimeS, leftS));
    const times = { createdAt: iso(now()), expiresAt: iso(expiresAtS * 1000) };
    const own = { id, sessionId, mode, resize, history: from === undefined, createdBy: by.user, ...times };
    const value: Kept = {
      ...own,
      ...{ sessionKey, from, createdThrough: by.through, apiTokenId: apiToken?.id },
    };
    await putOrEnd(records, { id, kind: SHARE, expiresAtS, value });
    return { ...own, token };
  }

  /** Valid links to all sessions. */
  get all(): readonly Share[] {
    return this.#kept();
  }

  /** Links of these sessions, oldest first. */
  of(...sessions: readonly Pick<Session, "key">[]): readonly Share[] {
    const keys = new Set(sessions.map(({ key }) => key));
    return this.#kept()
      .filter(({ sessionKey }) => keys.has(sessionKey))
      .map((kept) => Share.parse(kept))
      .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  }

  creatorOf(id: string): Creator | undefined {
    const kept = this.#kept().find((each) => each.id === id);
    return kept && { user: kept.createdBy, through: kept.createdThrough };
  }

  /** Takes effect for its guests at once, also on open sockets. ServiceError `share_not_found`. */
  async update(session: Pick<Session, "key">, id: string, change: Pick<Share, "mode">): Promise<Share> {
    const { expiresAtS, ...kept } = this.#find(session, id);
    const value: Kept = { ...kept, ...change };
    await this.#options.records.put({ id, kind: SHARE, expiresAtS, value });
    return Share.parse(value);
  }

  /** Disconnects its guests at once. ServiceError `share_not_found`. */
  async revoke(session: Pick<Session, "key">, id: string): Promise<void> {
    await this.#options.records.end([this.#find(session, id)]);
  }

  async forget(sessionKey: string): Promise<void> {
    await this.#options.records.end(this.#kept().filter((kept) => kept.sessionKey === sessionKey));
  }

  #find(session: Pick<Session, "key">, id: string): Kept & Pick<LiveRecord, "expiresAtS"> {
    const share = this.#kept().find((kept) => kept.id === id && kept.sessionKey === session.key);
    if (share !== undefined) return share;
    throw new ServiceError("share_not_found", `no share link ${id} of this session`);
  }

  #requireRoom({ user }: Creator): void {
    const kept = this.#kept();
    const own = kept.filter(({ createdBy }) => createdBy === user).length;
    if (kept.length < MAX_SHARES && own < MAX_SHARES_OF_USER) return;
    const whose = own < MAX_SHARES_OF_USER ? `there are ${MAX_SHARES}` : `you have ${MAX_SHARES_OF_USER}`;
    throw new ServiceError("too_many_shares", `${whose} share links: revoke some first`);
  }

  #kept(): readonly (Kept & Pick<LiveRecord, "expiresAtS">)[] {
    return this.#options.records.list(SHARE).flatMap(({ expiresAtS, value }) => {
      const { data: kept } = Kept.safeParse(value);
      return kept === undefined ? [] : [{ ...kept, expiresAtS }];
    });
  }
}

type SharesOptions = {
  readonly tokens: Pick<AccessTokens, "issueShare">;
  readonly records: Pick<RecordStore, "get" | "list" | "put" | "end" | "watch">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
