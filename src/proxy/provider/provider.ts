// The only importer of openid-client: discovery, the code flow with PKCE, renewal and logout.
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  ResponseBodyError,
  refreshTokenGrant,
} from "openid-client";
import type { Secret } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  PROVIDER_ANSWER_LIFETIME_MS,
  PROVIDER_CLOCK_TOLERANCE_S,
  PROVIDER_TIMEOUT_MS,
  RETRY_FIRST_MS,
} from "../../protocol/limits.ts";
import type { PendingLogin } from "./pending-login.ts";
import {
  type ClaimRules,
  Claims,
  mergedClaims,
  missingClaim,
  type ProviderAnswer,
  userOfClaims,
} from "./provider-answer.ts";

type ProviderOptions = {
  /** https, or http on a loopback name. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Separated by spaces, including `openid`. */
  readonly scope: string;
  /** Redirect targets after a login and after a logout. */
  readonly callbackUrl: string;
  readonly loggedOutUrl: string;
  readonly claims: ClaimRules;
};

type Tokens = Awaited<ReturnType<typeof refreshTokenGrant>>;

/** Requests to a provider. Each may reject with ServiceError `provider_unreachable`. */
export class Provider {
  readonly #options: ProviderOptions;
  readonly #log: Pick<Log, "info" | "warn">;
  #configuration: Promise<Configuration> | undefined;
  /** Whether the log has said that the provider is unreachable. */
  #isMissed = false;

  constructor(options: ProviderOptions, log: Pick<Log, "info" | "warn">) {
    this.#options = options;
    this.#log = log;
  }

  async loginUrl(pending: PendingLogin): Promise<URL> {
    const configuration = await this.discover();
    const { scope, callbackUrl } = this.#options;
    return buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: callbackUrl, scope, state: pending.state, nonce: pending.nonce },
      code_challenge: await calculatePKCECodeChallenge(pending.codeVerifier),
      code_challenge_method: "S256",
      // Core 1.0, 11: needs the user's consent each time.
      ...(scope.split(" ").includes("offline_access") ? { prompt: "consent" } : {}),
    });
  }

  /**
   * Completes a login with the callback's query. ServiceError `login_refused`: the provider refuses, or its answer
   * does not match the login, is not signed by it, not for this server, or expired.
   */
  async finish(search: string, pending: PendingLogin): Promise<ProviderAnswer> {
    const configuration = await this.discover();
    const url = new URL(search, this.#options.callbackUrl);
    return await this.#asking(async () => {
      const tokens = await authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: pending.codeVerifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      });
      const claims = await claimsOf(configuration, tokens, Claims.parse(tokens.claims()));
      const user = this.#userOf(claims, configuration.serverMetadata().issuer);
      return { ...standing(tokens, {}), subject: claims.sub, user };
    });
  }

  /**
   * Asks whether a login is still valid, with the claims of the ID token and the userinfo endpoint, if there are any.
   * ServiceError `login_refused`: it is not, it is another user's, or its user name has changed.
   */
  async renew(login: ProviderAnswer): Promise<ProviderAnswer> {
    const { refreshToken } = login;
    if (refreshToken === undefined) return login;
    const configuration = await this.discover();
    try {
      return await this.#asking(async () => {
        const tokens = await refreshTokenGrant(configuration, refreshToken);
        const user = await this.#renewedUser(configuration, tokens, login);
        return { ...login, ...standing(tokens, login), user };
      });
    } catch (error) {
      this.#log.warn(
        { issuer: this.#options.issuer, ...reasonOf(error) },
        "login not renewed by its provider",
      );
      throw error;
    }
  }

  async #renewedUser(
    configuration: Configuration,
    tokens: Tokens,
    { user: before, subject }: ProviderAnswer,
  ): Promise<ProviderAnswer["user"]> {
    const { issuer, userinfo_endpoint } = configuration.serverMetadata();
    const renewed = tokens.claims();
    if (renewed === undefined && userinfo_endpoint === undefined) return before;
    const known = Claims.parse(renewed ?? { sub: subject });
    if (known.sub !== subject)
      throw new ServiceError("login_refused", "the provider renews the login of somebody else");
    const user = this.#userOf(await claimsOf(configuration, tokens, known), issuer);
    if (user.login === before.login) return user;
    throw new ServiceError("login_refused", "the provider gives this account another user name now");
  }

  /** Redirect target for a logout; `undefined`: the provider has none. */
  async logoutUrl(idToken: string | undefined): Promise<URL | undefined> {
    const configuration = await this.discover();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: this.#options.loggedOutUrl,
      ...(idToken === undefined ? {} : { id_token_hint: idToken }),
    });
  }

  #userOf(claims: Claims, issuer: string): ProviderAnswer["user"] {
    const rules = this.#options.claims;
    const missing = missingClaim(claims, rules);
    if (missing !== undefined) {
      throw new ServiceError("login_refused", `the provider's claim ${missing} is not allowed here`);
    }
    const user = userOfClaims(claims, issuer, rules);
    if (user === undefined) throw new ServiceError("login_refused", "the provider names nobody");
    return user;
  }

  /** Finds the provider's endpoints, once. A failure counts briefly, so that clients cannot cause constant requests. */
  discover(): Promise<Configuration> {
    this.#configuration ??= this.#discover();
    return this.#configuration;
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    const url = new URL(issuer);
    const execute = [enableNonRepudiationChecks];
    // The configuration allows http on this machine only.
    if (url.protocol === "http:") execute.push(allowInsecureRequests);
    const metadata = { [clockTolerance]: PROVIDER_CLOCK_TOLERANCE_S };
    const secret = new TextDecoder().decode(clientSecret.bytes());
    try {
      const timeout = PROVIDER_TIMEOUT_MS / 1000;
      const found = await discovery(url, clientId, metadata, proofOf(secret), { execute, timeout });
      this.#log.info({ issuer }, "login provider found");
      return found;
    } catch (error) {
      if (!this.#isMissed) this.#log.warn({ issuer, ...reasonOf(error) }, "login provider out of reach");
      this.#isMissed = true;
      setTimeout(() => {
        this.#configuration = undefined;
      }, RETRY_FIRST_MS).unref();
      throw unreachable(issuer, error);
    }
  }

  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (isNoAnswer(error)) throw unreachable(this.#options.issuer, error);
      const because = error instanceof AuthorizationResponseError ? `: ${printable(error.error)}` : "";
      throw new ServiceError("login_refused", `the provider did not log you in${because}`, { cause: error });
    }
  }
}

/** By the provider's metadata; the default is Basic (Discovery 1.0, 3). */
function proofOf(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...request);
  };
}

async function claimsOf(configuration: Configuration, tokens: Tokens, claims: Claims): Promise<Claims> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  const userInfo = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
  return mergedClaims(claims, Claims.parse(userInfo));
}

/** Renewals may omit unchanged tokens. */
function standing(tokens: Tokens, before: Partial<ProviderAnswer>) {
  const validForS = tokens.expiresIn() ?? 0;
  return {
    idToken: tokens.id_token ?? before.idToken,
    refreshToken: tokens.refresh_token ?? before.refreshToken,
    validForMs: validForS > 0 ? validForS * 1000 : PROVIDER_ANSWER_LIFETIME_MS,
  };
}

/** Timeouts, incomplete answers, and answers of something else in the provider's place. */
const NO_ANSWERS = ["OAUTH_TIMEOUT", "OAUTH_ABORT", "OAUTH_PARSE_ERROR", "OAUTH_RESPONSE_IS_NOT_JSON"];

/** Statuses of refusals, also with an unreadable body (RFC 6749, 5.2). */
const REFUSALS = [400, 401, 403];

/** Whether the provider failed, rather than refused the login. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return isFailure(error.status);
  if (error instanceof ClientError) {
    const { code = "", cause } = error;
    if (cause instanceof Response && REFUSALS.includes(cause.status)) return false;
    return NO_ANSWERS.includes(code) || (cause instanceof Response && isFailure(cause.status));
  }
  // `fetch` rejects with TypeError; wrong arguments have a code.
  return error instanceof TypeError && !("code" in error);
}

function isFailure(status: number): boolean {
  return status < 400 || status >= 500 || status === 429 || status === 408;
}

function unreachable(issuer: string, cause: unknown): ServiceError {
  const message = `the login provider ${issuer} does not answer: try again in a moment`;
  return new ServiceError("provider_unreachable", message, { cause, details: { retryAfterSeconds: 5 } });
}

/** For the log: why the provider gave no login. Strings only, because libraries attach codes and tokens to errors. */
export function reasonOf(thrown: unknown): Readonly<Record<string, unknown>> {
  const error = thrown instanceof ServiceError ? (thrown.cause ?? thrown) : thrown;
  if (!(error instanceof Error)) return { reason: String(error) };
  const code = "code" in error ? { code: error.code } : {};
  const said = "error" in error && typeof error.error === "string" ? { said: printable(error.error) } : {};
  const below = error.cause instanceof Error ? { because: error.cause.message } : {};
  return { reason: error.message, ...code, ...said, ...below };
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100);
}
