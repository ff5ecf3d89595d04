import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { type LiveRecord, putOrEnd, type RecordStore } from "../../lib/data/live-records.ts";
import type { Secret } from "../../lib/secret.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_SESSION_ID_LENGTH,
  MAX_SESSION_KEY_LENGTH,
  MAX_SHARES,
  MAX_SHARES_OF_USER,
} from "../../protocol/limits.ts";
import { Share, type ShareMode } from "../../protocol/schemas/share.ts";
import type { Principal, Proof } from "../principal.ts";
import type { Rights } from "../roles.ts";

/** How the link's creator was authenticated: by a login here, by a proxy, or otherwise (an HQ, the server's user). */
const CreatedThrough = z.enum(["login", "proxy", "other"]);
export type Creator = {
  readonly user: string;
  readonly through: z.infer<typeof CreatedThrough>;
  /** Of a login or an API token. */
  readonly tokenId?: string | undefined;
};

/** `sessionKey` distinguishes the session from a later one with the same id. */
const Kept = Share.extend({
  sessionId: z.string().min(1).max(MAX_SESSION_ID_LENGTH),
  sessionKey: z.string().min(1).max(MAX_SESSION_KEY_LENGTH),
  /** Of a link without history: the output's end at its creation. */
  from: z.int().nonnegative().optional(),
  createdThrough: CreatedThrough.default("login"),
  /** Of the API token that created the link, which ends with it. */
  apiTokenId: z.string().min(1).max(128).optional(),
});
type Kept = z.infer<typeof Kept>;
type Expiry = Pick<LiveRecord, "expiresAtS">;
const SHARE = "share";

/** `ID.SIGNATURE`. Everything else is in the record of the id, so that links stay short. */
const TOKEN = /^([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{22})$/;
const ID_BYTES = 12;
const SIGNATURE_BYTES = 16;

/** A later session may have the same id, and at an HQ a session of another remote the same key: remotes choose their keys. */
type Session = { readonly id: string; readonly key: string };

/** `from`: output before that offset is hidden. */
type NewLink = {
  readonly mode: ShareMode;
  readonly resize: boolean;
  readonly from: number | undefined;
  readonly lifetimeS: number;
  readonly by: Creator;
};

type SharesOptions = {
  /** Signs the tokens. */
  readonly secret: Secret;
  readonly records: Pick<RecordStore, "instanceId" | "get" | "find" | "list" | "put" | "end" | "watch">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
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
    const { records, now } = this.#options;
    this.#requireRoom(by);
    const { id: sessionId, key: sessionKey } = session;
    const creator = records.get(by.tokenId ?? "");
    const apiToken = creator?.kind === "token" ? creator : undefined;
    const nowS = Math.floor(now() / 1000);
    const expiresAtS = Math.min(nowS + lifetimeS, apiToken?.expiresAtS ?? Infinity);
    const id = randomBytes(ID_BYTES).toString("base64url");
    const times = { createdAt: iso(now()), expiresAt: iso(expiresAtS * 1000) };
    const own = { id, sessionId, mode, resize, history: from === undefined, createdBy: by.user, ...times };
    const value: Kept = {
      ...own,
      ...{ sessionKey, from, createdThrough: by.through, apiTokenId: apiToken?.id },
    };
    await putOrEnd(records, { id, kind: SHARE, expiresAtS, value });
    return { ...own, token: `${id}.${this.#signatureOf(id)}` };
  }

  /** The guest; `undefined` for anything but the token of a share link. ServiceError `unauthorized`: the link has ended. */
  async verify(token: string): Promise<Proof | undefined> {
    const [, id, signature] = TOKEN.exec(token) ?? [];
    if (id === undefined || signature === undefined) return undefined;
    const isOurs = timingSafeEqual(Buffer.from(this.#signatureOf(id)), Buffer.from(signature));
    const link = isOurs ? await this.#open(id) : undefined;
    if (link === undefined) throw new ServiceError("unauthorized", "share link has ended");
    const { mode, resize, from, sessionId, sessionKey, expiresAtS } = link;
    const session = { id: sessionId, key: sessionKey };
    const rights = { kind: "invited", session, mode, resize, from } as const;
    return { user: `guest-${id}`, method: "share", tokenId: id, expiresAtMs: expiresAtS * 1000, rights };
  }

  async #open(id: string): Promise<(Kept & Expiry) | undefined> {
    const { records, now } = this.#options;
    const link = keptIn(await records.find(id));
    if (link === undefined || now() >= link.expiresAtS * 1000) return undefined;
    const { apiTokenId } = link;
    const hasLost = apiTokenId !== undefined && (await records.find(apiTokenId)) === undefined;
    return hasLost ? undefined : link;
  }

  /**
   * The rights now: those of a guest change with the share link, also while a socket is open and for a ticket of before.
   * Without its record a guest may only watch.
   */
  rightsNow({ rights, tokenId = "" }: Pick<Principal, "rights" | "tokenId">): Rights {
    if (rights.kind !== "invited") return rights;
    const { mode = "view", resize = false } = keptIn(this.#options.records.get(tokenId)) ?? {};
    return { ...rights, mode, resize };
  }

  /** The instance limits it to this server or group of HQs, as the audience limits a JWT. */
  #signatureOf(id: string): string {
    const { secret, records } = this.#options;
    const digest = createHmac("sha256", secret.bytes()).update(`share ${records.instanceId} ${id}`).digest();
    return digest.subarray(0, SIGNATURE_BYTES).toString("base64url");
  }

  /** Valid links to all sessions. */
  get all(): readonly Share[] {
    return this.#kept();
  }

  /** Links of these sessions, oldest first. */
  of(...sessions: readonly Session[]): readonly Share[] {
    const keys = new Map(sessions.map(({ id, key }) => [id, key]));
    return this.#kept()
      .filter(({ sessionId, sessionKey }) => keys.get(sessionId) === sessionKey)
      .map((kept) => Share.parse(kept))
      .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  }

  creatorOf(id: string): Creator | undefined {
    const kept = keptIn(this.#options.records.get(id));
    return kept && { user: kept.createdBy, through: kept.createdThrough };
  }

  /** Takes effect for its guests at once, also on open sockets. ServiceError `share_not_found`. */
  async update(session: Session, id: string, change: Pick<Share, "mode">): Promise<Share> {
    const { expiresAtS, ...kept } = this.#find(session, id);
    const value: Kept = { ...kept, ...change };
    await this.#options.records.put({ id, kind: SHARE, expiresAtS, value });
    return Share.parse(value);
  }

  /** Disconnects its guests at once. ServiceError `share_not_found`. */
  async revoke(session: Session, id: string): Promise<void> {
    await this.#options.records.end([this.#find(session, id)]);
  }

  async forget(session: Session): Promise<void> {
    await this.#options.records.end(this.#kept().filter((kept) => isOf(kept, session)));
  }

  #find(session: Session, id: string): Kept & Expiry {
    const share = keptIn(this.#options.records.get(id));
    if (share !== undefined && isOf(share, session)) return share;
    throw new ServiceError("share_not_found", `no share link ${id} of this session`);
  }

  #requireRoom({ user }: Creator): void {
    const kept = this.#kept();
    const own = kept.filter(({ createdBy }) => createdBy === user).length;
    if (kept.length < MAX_SHARES && own < MAX_SHARES_OF_USER) return;
    const whose = own < MAX_SHARES_OF_USER ? `there are ${MAX_SHARES}` : `you have ${MAX_SHARES_OF_USER}`;
    throw new ServiceError("too_many_shares", `${whose} share links: revoke some first`);
  }

  #kept(): readonly (Kept & Expiry)[] {
    return this.#options.records.list(SHARE).flatMap((record) => keptIn(record) ?? []);
  }
}

function keptIn(record: LiveRecord | undefined): (Kept & Expiry) | undefined {
  const kept = Kept.safeParse(record?.kind === SHARE ? record.value : undefined).data;
  return record && kept && { ...kept, expiresAtS: record.expiresAtS };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function isOf({ sessionId, sessionKey }: Kept, { id, key }: Session): boolean {
  return sessionId === id && sessionKey === key;
}
