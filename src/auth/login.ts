import type { Tally } from "../lib/data/tally.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type Challenge, TokenResponse } from "../protocol/schemas/auth.ts";
import type { LoginAnswers } from "../protocol/schemas/login-question.ts";
import type { SecondFactorProof, SecondFactorResponse } from "../protocol/schemas/passkey.ts";
import type { SecondFactor } from "./passkey/second-factor.ts";
import { type Claimant, isRefusal, type LoginAttempts } from "./password/attempts.ts";
import { type LoginGroup, LoginQuestions } from "./password/login-questions.ts";
import type { PasswordCheck } from "./password/password-login.ts";
import type { Principal } from "./principal.ts";
import type { KeyLogin, KeyProof } from "./ssh/key-login.ts";
import type { AccessTokens } from "./tokens/access-token.ts";
import type { LoginSource } from "./tokens/login-records.ts";
import type { Tickets } from "./tokens/tickets.ts";
import type { Users } from "./users.ts";

type LoginParts = {
  /** `undefined`: no login by password. */
  readonly password: PasswordCheck | "not required" | undefined;
  readonly tokens: Pick<AccessTokens, "issue" | "revoke">;
  /** One-time login links; the holder is the user. */
  readonly links: Pick<Tickets<string>, "redeem">;
  readonly attempts: Pick<LoginAttempts, "guard">;
  readonly group?: LoginGroup | undefined;
  readonly users: Pick<Users, "mayLogIn" | "own">;
  /** `undefined`: a correct password is enough. */
  readonly secondFactor?: SecondFactor | undefined;
  /** `undefined`: no login by key. */
  readonly keys: Pick<KeyLogin, "challenge" | "take" | "prove"> | undefined;
  readonly log: Pick<Log, "info" | "warn">;
  /** By result: `ok`, `refused`, `limited` or `failed`. */
  readonly logins: Pick<Tally<"method" | "result">, "add">;
};

/** Exchanges proofs for access tokens, and revokes tokens (specification 5.1, contract 5.1, 5.3). */
export class Login {
  readonly #parts: LoginParts;
  /** Logins in which PAM asks for more than a password. */
  readonly #questions: LoginQuestions<TokenResponse>;

  constructor(parts: LoginParts) {
    this.#parts = parts;
    this.#questions = new LoginQuestions({ result: TokenResponse, group: parts.group });
  }

  /** For logins without a name. */
  get defaultUser(): string {
    return this.#parts.users.own;
  }

  /**
   * A token for a password; without one where none is required. ServiceError `invalid_credentials`, `password_disabled`,
   * `login_question`, `second_factor_required`, `rate_limited`. `address`: `undefined` on a unix socket. `origin`: the page's.
   */
  async withPassword(request: {
    readonly username?: string | undefined;
    readonly password?: string | undefined;
    /** Instead of an answer to `second_factor_required`. */
    readonly recoveryCode?: string | undefined;
    readonly address: string | undefined;
    readonly client?: string | undefined;
    readonly origin?: string | undefined;
  }): Promise<TokenResponse> {
    const { password: check, tokens, users, secondFactor } = this.#parts;
    if (check === "not required") return await tokens.issue(users.own, "none", request);
    if (check === undefined) throw new ServiceError("password_disabled", "login by password is disabled");
    const { username = users.own, password = "", address, client } = request;
    return await this.#questions.begin(address, (ask) =>
      this.#logIn("password", { address, client, user: username }, async () => {
        const user = await check({ username, password, address }, ask);
        // Does not reveal that the password was correct.
        if (!users.mayLogIn(user))
          throw new ServiceError("invalid_credentials", "wrong user name or password");
        const { recoveryCode, origin } = request;
        if (recoveryCode === undefined) await secondFactor?.demand(user, origin);
        else await secondFactor?.useRecoveryCode(user, recoveryCode);
        return user;
      }),
    );
  }

  /** Continues a login after `login_question`. ServiceError `unauthorized` if it is not pending, and those of `withPassword`. */
  async withAnswers({
    address,
    ...given
  }: LoginAnswers & { readonly address: string | undefined }): Promise<TokenResponse> {
    // A login that waits has passed the limit at its begin.
    const result = await this.#questions.answer(given);
    if (result !== undefined) return result;
    return await this.#parts.attempts.guard({ address }, async () => {
      throw new ServiceError("unauthorized", "this login was answered or is too old: log in again");
    });
  }

  /** A token for the answer to `second_factor_required`. ServiceError `unauthorized`, `invalid_credentials`, `rate_limited`. */
  async withSecondFactor({
    challengeId,
    address,
    client,
    ...proof
  }: SecondFactorProof & LoginSource): Promise<SecondFactorResponse> {
    const { secondFactor } = this.#parts;
    if (secondFactor === undefined) throw new ServiceError("unauthorized", "no second factor is required");
    const pending = await secondFactor.take(challengeId);
    const claimant = { address, client, ...(pending && { user: pending.user }) };
    let recoveryCodes: string[] | undefined;
    const issued = await this.#logIn("second-factor", claimant, async () => {
      if (pending === undefined) throw new ServiceError("unauthorized", "challenge was used or is too old");
      recoveryCodes = await secondFactor.prove(pending, proof);
      return pending.user;
    });
    return { ...issued, recoveryCodes };
  }

  /** A token for the ticket of a login link. ServiceError `unauthorized`, `rate_limited`. */
  async withLink({ ticket, ...source }: LoginSource & { readonly ticket: string }): Promise<TokenResponse> {
    return await this.#logIn("link", source, () => this.#parts.links.redeem(ticket));
  }

  /** A challenge to sign with an SSH key. ServiceError `ssh_keys_disabled`, `registry_unavailable`. */
  async challenge(user = this.defaultUser): Promise<Challenge> {
    return await this.#keys.challenge(user);
  }

  /** A token for a signed challenge, which works once. ServiceError `invalid_credentials`, `ssh_keys_disabled`, `rate_limited`. */
  async withKey({
    challengeId,
    client,
    ...proof
  }: KeyProof & LoginSource & { readonly challengeId: string }): Promise<TokenResponse> {
    const keys = this.#keys;
    const challenge = await keys.take(challengeId);
    const claimant = { address: proof.address, client, ...(challenge && { user: challenge.user }) };
    return await this.#logIn("ssh-key", claimant, () => keys.prove(challenge, proof));
  }

  async logOut(principal: Principal): Promise<void> {
    const { tokens, log } = this.#parts;
    await tokens.revoke(principal);
    log.info({ user: principal.user }, "logged out");
  }

  get #keys(): NonNullable<LoginParts["keys"]> {
    const { keys } = this.#parts;
    if (keys !== undefined) return keys;
    throw new ServiceError("ssh_keys_disabled", "login with an SSH key is off: see --enable-ssh-keys");
  }

  async #logIn(
    method: string,
    claimant: Claimant & LoginSource,
    prove: () => Promise<string>,
  ): Promise<TokenResponse> {
    const { address, client } = claimant;
    const { user } = await this.admit(method, claimant, async () => ({ user: await prove() }));
    return await this.#parts.tokens.issue(user, method, { address, client });
  }

  /** Limits, counts and logs a login. Throws `rate_limited`, and as `prove`. `reasonOf`: what the log says about an error. */
  async admit<Proven extends { readonly user: string }>(
    method: string,
    claimant: Claimant,
    prove: () => Promise<Proven>,
    reasonOf: (error: unknown) => object = () => ({}),
  ): Promise<Proven> {
    const { attempts, log, logins } = this.#parts;
    const { address } = claimant;
    try {
      const proven = await attempts.guard(claimant, prove);
      logins.add(method, "ok");
      log.info({ user: proven.user, method, address }, "logged in");
      return proven;
    } catch (error) {
      // Neither the name is logged, because people type their password there, nor tries beyond the limit.
      const code = error instanceof ServiceError ? error.code : "internal_error";
      // The password was correct: the login continues.
      if (code === "second_factor_required") throw error;
      const isLimited = code === "rate_limited";
      logins.add(method, isLimited ? "limited" : isRefusal(error) ? "refused" : "failed");
      if (!isLimited) log.warn({ method, address, ...reasonOf(error) }, "login refused");
      throw error;
    }
  }
}
