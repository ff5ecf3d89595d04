import { createSecretKey, type KeyObject, randomUUID } from "node:crypto";
import jwt from "jsonwebtoken";
import { z } from "zod";
import type { RecordStore } from "../../lib/data/live-records.ts";
import type { Secret } from "../../lib/secret.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_API_TOKEN_LIFETIME_S,
  MAX_TOKEN_LENGTH,
  REMOTE_CREDENTIAL_LIFETIME_S,
  TOKEN_LIFETIME_S,
} from "../../protocol/limits.ts";
import type { TokenResponse } from "../../protocol/schemas/auth.ts";
import type { Principal, Proof } from "../principal.ts";
import type { KeptToken, LoginRecords, LoginSource, NewToken } from "./login-records.ts";
import type { Shares } from "./shares.ts";

type ProvenToken = Pick<Principal, "tokenId" | "expiresAtMs">;

const ALGORITHM = "HS256";
const ISSUER = "ttyhq";
/** Longer timers fire at once, and share links live longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The remote that a credential registers. */
const NamedRemote = z.object({ id: z.string().min(1).max(64), name: z.string().min(1).max(128) });

/** The JWT library checks the issuer, the audience and the times. */
const Claims = z
  .object({
    sub: z.string().min(1).max(256),
    jti: z.string().min(1).max(128),
    iat: z.int().nonnegative(),
    exp: z.int().nonnegative(),
    remote: NamedRemote.optional(),
    /** Of an API token. */
    api: z.literal(true).optional(),
  })
  .refine(
    ({ iat, exp, api }) => exp - iat <= (api ? MAX_API_TOKEN_LIFETIME_S : TOKEN_LIFETIME_S),
    "lives longer than a token may",
  );

type AccessTokensOptions = {
  readonly secret: Secret;
  readonly records: Pick<RecordStore, "instanceId" | "get" | "find" | "end" | "watch">;
  readonly logins: Pick<LoginRecords, "add" | "addToken" | "use" | "isIdle" | "hold">;
  readonly shares?: Pick<Shares, "verify"> | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/**
 * Access tokens: JWTs signed with HS256, valid for 24 hours (specification 5.2, contract 5.5), also of API tokens. A token
 * is valid while the record of its id exists.
 */
export class AccessTokens {
  readonly #key: KeyObject;
  readonly #options: AccessTokensOptions;

  constructor(options: AccessTokensOptions) {
    this.#key = createSecretKey(options.secret.bytes());
    this.#options = options;
  }

  async issue(user: string, method: string, source: LoginSource): Promise<TokenResponse> {
    const { token, id, expiresAtS } = this.#sign({ sub: user }, TOKEN_LIFETIME_S);
    await this.#options.logins.add({ id, expiresAtS }, { ...source, user, method });
    return { token, expiresIn: TOKEN_LIFETIME_S, user };
  }

  /** Throws as LoginRecords.addToken. */
  async issueApiToken(
    lifetimeS: number,
    login: NewToken,
  ): Promise<{ readonly token: string; readonly kept: KeptToken }> {
    const { token, ...place } = this.#sign({ sub: login.user, api: true }, lifetimeS);
    return { token, kept: await this.#options.logins.addToken(place, login) };
  }

  /** The short-lived credential of a remote: it registers that remote and logs nobody in. It has no record. */
  issueRemote(remote: z.infer<typeof NamedRemote>): Pick<TokenResponse, "token" | "expiresIn"> {
    const claims = { sub: `remote:${remote.name}`, remote };
    const { token } = this.#sign(claims, REMOTE_CREDENTIAL_LIFETIME_S);
    return { token, expiresIn: REMOTE_CREDENTIAL_LIFETIME_S };
  }

  /** Also of share links. ServiceError `unauthorized`: no valid token; `registry_unavailable`: that is not known now. */
  async verify(token: string): Promise<Proof> {
    const { records, logins, shares } = this.#options;
    const guest = await shares?.verify(token);
    if (guest !== undefined) return guest;
    const { sub, jti, exp, remote } = this.#claims(token);
    if (remote !== undefined) return { user: sub, method: "remote", rights: { kind: "remote", ...remote } };
    const record = await records.find(jti);
    if (record === undefined) throw refused("login is over: log in again");
    const known = { user: sub, tokenId: jti, expiresAtMs: exp * 1000 };
    const { scope } = logins.use(record);
    return scope === undefined ? { ...known, method: "token" } : { ...known, method: "api-token", scope };
  }

  /** False once the principal's token has expired, was revoked or idle for too long; true without a token. */
  async isCurrent({ tokenId, expiresAtMs }: ProvenToken): Promise<boolean> {
    if (tokenId === undefined || expiresAtMs === undefined) return true;
    const record = this.#now() < expiresAtMs ? await this.#options.records.find(tokenId) : undefined;
    return record !== undefined && !this.#options.logins.isIdle(record);
  }

  /**
   * Calls `over` once, with the reason, when the principal's token is revoked or expires; never without a token. Not
   * called before this returns or after disposal. Meanwhile the login is in use.
   */
  whenOver({ tokenId, expiresAtMs }: ProvenToken, over: (reason: string) => void): Disposable {
    const watch = new DisposableStack();
    if (tokenId === undefined || expiresAtMs === undefined) return watch;
    const isLive = (): boolean => this.#options.records.get(tokenId) !== undefined;
    const end = (): void => {
      if (watch.disposed) return;
      watch.dispose();
      over(this.#now() < expiresAtMs && !isLive() ? "logged out" : "login expired");
    };
    watch.use(this.#options.logins.hold(tokenId));
    watch.use(this.#options.records.watch((id) => id === tokenId && end()));
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      const leftMs = isLive() ? expiresAtMs - this.#now() : 0;
      timer = leftMs > MAX_TIMER_MS ? setTimeout(wait, MAX_TIMER_MS) : setTimeout(end, leftMs);
    };
    wait();
    watch.defer(() => clearTimeout(timer));
    return watch;
  }

  /** Ends the token and the tickets bought with it, see RecordStore.end. */
  async revoke({ tokenId, expiresAtMs }: ProvenToken): Promise<void> {
    if (tokenId === undefined || expiresAtMs === undefined) return;
    await this.#options.records.end([{ id: tokenId, expiresAtS: expiresAtMs / 1000 }]);
  }

  #now(): number {
    return this.#options.now();
  }

  #sign(claims: { readonly sub: string; readonly api?: true }, lifetimeS: number) {
    const iat = Math.floor(this.#now() / 1000);
    const [id, expiresAtS] = [randomUUID(), iat + lifetimeS];
    const own = { iat, exp: expiresAtS, jti: id, iss: ISSUER, aud: this.#options.records.instanceId };
    const token = jwt.sign({ ...claims, ...own }, this.#key, { algorithm: ALGORITHM });
    return { token, id, expiresAtS };
  }

  #claims(token: string): z.infer<typeof Claims> {
    if (token.length > MAX_TOKEN_LENGTH || !SHAPE.test(token)) throw refused("invalid token: log in again");
    try {
      const clockTimestamp = Math.floor(this.#now() / 1000);
      const audience = this.#options.records.instanceId;
      return Claims.parse(
        jwt.verify(token, this.#key, { algorithms: [ALGORITHM], issuer: ISSUER, audience, clockTimestamp }),
      );
    } catch (cause) {
      // Whatever the library throws for such bytes, the token is invalid.
      const message = cause instanceof jwt.TokenExpiredError ? "token expired" : "invalid token";
      throw refused(`${message}: log in again`, cause);
    }
  }
}

function refused(message: string, cause?: unknown): ServiceError {
  return new ServiceError("unauthorized", message, { cause });
}
