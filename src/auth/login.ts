import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { AccessTokens, IssuedToken } from "./access-token.ts";
import type { Claimant, LoginAttempts } from "./attempts.ts";
import type { PasswordCheck } from "./password-login.ts";
import type { Principal } from "./principal.ts";
import type { Tickets } from "./tickets.ts";

/** How one logs in: not at all, or by what is offered. */
export type LoginMode =
  | { readonly mode: "none" }
  | { readonly mode: "login"; readonly password: PasswordCheck | undefined };

type LoginParts = {
  readonly mode: LoginMode;
  /** Who the server runs as. */
  readonly serverUser: string;
  /** Who logs in when no name is given: SERVICE_USERNAME, else the server's user. */
  readonly defaultUser: string;
  readonly tokens: Pick<AccessTokens, "issue" | "revoke">;
  /** One-time login links; the holder is who is logged in. */
  readonly links: Pick<Tickets<string>, "redeem">;
  readonly attempts: Pick<LoginAttempts, "guard">;
  readonly log: Pick<Log, "info" | "warn">;
};

/** From something that proves who one is to an access token, and back (specification 5.1, contract 5.1, 5.3). */
export class Login {
  readonly #parts: LoginParts;

  constructor(parts: LoginParts) {
    this.#parts = parts;
  }

  /**
   * A token for a password, or for nothing where no login is asked for. ServiceError `invalid_credentials`,
   * `password_disabled`, `rate_limited`. `address`: the peer's, `undefined` on a unix socket.
   */
  async withPassword(request: {
    readonly username?: string | undefined;
    readonly password?: string | undefined;
    readonly address: string | undefined;
  }): Promise<IssuedToken> {
    const { mode, serverUser, defaultUser, tokens } = this.#parts;
    if (mode.mode === "none") return tokens.issue(serverUser);
    const { password: check } = mode;
    if (check === undefined) throw new ServiceError("password_disabled", "login by password is disabled");
    const { username = defaultUser, password = "", address } = request;
    return await this.#admit("password", { address, user: username }, () => check({ username, password }));
  }

  /** A token for the ticket of a login link. ServiceError `unauthorized`, `rate_limited`. */
  async withLink(request: {
    readonly ticket: string;
    readonly address: string | undefined;
  }): Promise<IssuedToken> {
    const { links } = this.#parts;
    return await this.#admit("link", { address: request.address }, async () => links.redeem(request.ticket));
  }

  /** Revokes the token behind a principal, see AccessTokens.revoke. */
  async logOut(principal: Principal): Promise<void> {
    const { tokens, log } = this.#parts;
    await tokens.revoke(principal);
    log.info({ user: principal.user }, "logged out");
  }

  async #admit(method: string, claimant: Claimant, proof: () => Promise<string>): Promise<IssuedToken> {
    const { tokens, attempts, log } = this.#parts;
    const { address } = claimant;
    try {
      const user = await attempts.guard(claimant, proof);
      log.info({ user, method, address }, "logged in");
      return tokens.issue(user);
    } catch (error) {
      // The name is not logged, because people type their password there, nor what comes beyond the limit.
      const isLimited = error instanceof ServiceError && error.code === "rate_limited";
      if (!isLimited) log.warn({ method, address }, "login refused");
      throw error;
    }
  }
}
