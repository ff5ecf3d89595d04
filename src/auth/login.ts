import { ServiceError } from "../protocol/errors.ts";
import type { AccessTokens, IssuedToken } from "./access-token.ts";
import type { LoginAttempts } from "./attempts.ts";
import type { PasswordCheck } from "./password-login.ts";
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
  readonly tokens: Pick<AccessTokens, "issue">;
  /** One-time login links; the holder is who is logged in. */
  readonly links: Pick<Tickets<string>, "redeem">;
  readonly attempts: Pick<LoginAttempts, "guard">;
};

/** From something that proves who one is to an access token (specification 5.1, contract 5.1). */
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
    const { mode, serverUser, defaultUser, tokens, attempts } = this.#parts;
    if (mode.mode === "none") return tokens.issue(serverUser);
    const { password: check } = mode;
    if (check === undefined) throw new ServiceError("password_disabled", "login by password is disabled");
    const { username = defaultUser, password = "", address } = request;
    const user = await attempts.guard({ address, user: username }, () => check({ username, password }));
    return tokens.issue(user);
  }

  /** A token for the ticket of a login link. ServiceError `unauthorized`, `rate_limited`. */
  async withLink(request: {
    readonly ticket: string;
    readonly address: string | undefined;
  }): Promise<IssuedToken> {
    const { links, tokens, attempts } = this.#parts;
    const user = await attempts.guard({ address: request.address }, async () => links.redeem(request.ticket));
    return tokens.issue(user);
  }
}
