import { createSecretKey, type KeyObject, randomUUID } from "node:crypto";
import jwt from "jsonwebtoken";
import { z } from "zod";
import type { Secret } from "../lib/secret.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  MAX_SESSION_ID_LENGTH,
  MAX_SHARE_LIFETIME_S,
  MAX_TOKEN_LENGTH,
  REMOTE_CREDENTIAL_LIFETIME_S,
  TOKEN_LIFETIME_S,
} from "../protocol/limits.ts";
import { ShareMode } from "../protocol/share.ts";
import type { Principal, Proof } from "./principal.ts";
import type { Revocations } from "./revocations.ts";

/** What a login answers (specification 2.4); `expiresIn` in seconds. */
export type IssuedToken = { readonly token: string; readonly expiresIn: number; readonly user: string };

/** What of a principal names the token behind it. */
type ProvenToken = Pick<Principal, "tokenId" | "expiresAtMs">;

const ALGORITHM = "HS256";
const ISSUER = "ttyhq";
/** A longer timer would go off at once, and share links live longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** What a share link opens. `created` tells the session from a later one of the same id. */
const SharedSession = z.object({
  id: z.string().min(1).max(MAX_SESSION_ID_LENGTH),
  created: z.string().max(64),
  mode: ShareMode,
  /** Of a link without history: the end of the output when it was made. */
  from: z.int().nonnegative().optional(),
});
export type SharedSession = z.infer<typeof SharedSession>;

/** What the credential of a remote registers. */
const NamedRemote = z.object({ id: z.string().min(1).max(64), name: z.string().min(1).max(128) });
export type NamedRemote = z.infer<typeof NamedRemote>;

const Claims = z
  .object({
    sub: z.string().min(1).max(256),
    jti: z.string().min(1).max(128),
    iat: z.int().nonnegative(),
    exp: z.int().nonnegative(),
    share: SharedSession.optional(),
    remote: NamedRemote.optional(),
  })
  .refine(
    ({ iat, exp, share }) => exp - iat <= (share === undefined ? TOKEN_LIFETIME_S : MAX_SHARE_LIFETIME_S),
    "lives longer than a token may",
  );

/** The token of a share link, and what it is listed and revoked by. */
export type IssuedShare = { readonly token: string; readonly id: string; readonly expiresAtS: number };

/** Access tokens: JWTs signed with HS256, good for 24 hours (specification 5.2, contract 5.5); those of share links, too. */
export class AccessTokens {
  readonly #key: KeyObject;
  readonly #revocations: Pick<Revocations, "has" | "add" | "watch">;
  readonly #now: () => number;

  /** `now`: milliseconds since 1970. */
  constructor(options: {
    readonly secret: Secret;
    readonly revocations: Pick<Revocations, "has" | "add" | "watch">;
    readonly now: () => number;
  }) {
    this.#key = createSecretKey(options.secret.bytes());
    this.#revocations = options.revocations;
    this.#now = options.now;
  }

  issue(user: string): IssuedToken {
    const iat = Math.floor(this.#now() / 1000);
    const claims = { sub: user, iat, exp: iat + TOKEN_LIFETIME_S, jti: randomUUID(), iss: ISSUER };
    const token = jwt.sign(claims, this.#key, { algorithm: ALGORITHM });
    return { token, expiresIn: TOKEN_LIFETIME_S, user };
  }

  /** A token that opens one session to whoever has it, for `lifetimeS` seconds; nobody is logged in by it. */
  issueShare(session: SharedSession, lifetimeS: number): IssuedShare {
    const iat = Math.floor(this.#now() / 1000);
    const [id, exp] = [randomUUID(), iat + lifetimeS];
    const claims = { sub: `guest-${id}`, iat, exp, jti: id, iss: ISSUER, share: session };
    return { token: jwt.sign(claims, this.#key, { algorithm: ALGORITHM }), id, expiresAtS: exp };
  }

  /** The short-lived credential of a remote: it registers that one, and logs nobody in. */
  issueRemote(remote: NamedRemote): Pick<IssuedToken, "token" | "expiresIn"> {
    const iat = Math.floor(this.#now() / 1000);
    const [exp, sub] = [iat + REMOTE_CREDENTIAL_LIFETIME_S, `remote:${remote.name}`];
    const claims = { sub, iat, exp, jti: randomUUID(), iss: ISSUER, remote };
    const token = jwt.sign(claims, this.#key, { algorithm: ALGORITHM });
    return { token, expiresIn: REMOTE_CREDENTIAL_LIFETIME_S };
  }

  /** Who a token was issued to. Anything but a live token of ours: ServiceError `unauthorized`. */
  verify(token: string): Proof {
    const { sub, jti, iat, exp, share, remote } = this.#claims(token);
    if (this.#revocations.has({ id: jti, expiresAtS: exp, issuedAtS: iat }))
      throw refused("token was revoked: log in again");
    const known = { user: sub, tokenId: jti, expiresAtMs: exp * 1000 };
    if (remote !== undefined) return { ...known, method: "remote", rights: { kind: "remote", ...remote } };
    if (share === undefined) return { ...known, method: "token" };
    const { mode, from, ...session } = share;
    return { ...known, method: "share", rights: { kind: "invited", session, mode, from } };
  }

  /** False once the token behind a principal has expired or was revoked; true where there is none. */
  isCurrent({ tokenId, expiresAtMs }: ProvenToken): boolean {
    if (tokenId === undefined || expiresAtMs === undefined) return true;
    return (
      this.#now() < expiresAtMs && !this.#revocations.has({ id: tokenId, expiresAtS: expiresAtMs / 1000 })
    );
  }

  /**
   * Calls `over` once, with the reason, when the token behind a principal is revoked or expires; never where there is
   * none. Not called before this returns, nor after the answer was disposed of.
   */
  whenOver({ tokenId, expiresAtMs }: ProvenToken, over: (reason: string) => void): Disposable {
    const watch = new DisposableStack();
    if (tokenId === undefined || expiresAtMs === undefined) return watch;
    const token = { id: tokenId, expiresAtS: expiresAtMs / 1000 };
    const isRevoked = (): boolean => this.#revocations.has(token);
    const end = (): void => {
      if (watch.disposed) return;
      watch.dispose();
      over(isRevoked() ? "logged out" : "login expired");
    };
    watch.use(this.#revocations.watch(() => isRevoked() && end()));
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      const leftMs = isRevoked() ? 0 : expiresAtMs - this.#now();
      timer = leftMs > MAX_TIMER_MS ? setTimeout(wait, MAX_TIMER_MS) : setTimeout(end, leftMs);
    };
    wait();
    watch.defer(() => clearTimeout(timer));
    return watch;
  }

  /** Logout: the token behind this principal works no more, nor do tickets that it bought. See Revocations.add. */
  async revoke({ tokenId, expiresAtMs }: ProvenToken): Promise<void> {
    if (tokenId === undefined || expiresAtMs === undefined) return;
    await this.#revocations.add({ id: tokenId, expiresAtS: expiresAtMs / 1000 });
  }

  #claims(token: string): z.infer<typeof Claims> {
    if (token.length > MAX_TOKEN_LENGTH || !SHAPE.test(token)) throw refused("invalid token: log in again");
    try {
      const clockTimestamp = Math.floor(this.#now() / 1000);
      return Claims.parse(
        jwt.verify(token, this.#key, { algorithms: [ALGORITHM], issuer: ISSUER, clockTimestamp }),
      );
    } catch (cause) {
      // Whatever a stranger's bytes make the library throw, it is no more than a token that is not ours.
      const message = cause instanceof jwt.TokenExpiredError ? "token expired" : "invalid token";
      throw refused(`${message}: log in again`, cause);
    }
  }
}

function refused(message: string, cause?: unknown): ServiceError {
  return new ServiceError("unauthorized", message, { cause });
}
