// The one door to openid-client: discovery, the code flow with PKCE, renewal, and the way to the provider's logout.
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
import { Backoff } from "../../lib/async/backoff.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  PROVIDER_ANSWER_LIFETIME_MS,
  PROVIDER_CLOCK_TOLERANCE_S,
  PROVIDER_TIMEOUT_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
} from "../../protocol/limits.ts";
import type { BegunLogin } from "./begun-login.ts";
import {
  type ClaimRules,
  Claims,
  mergedClaims,
  missingClaim,
  type ProviderAnswer,
  userOfClaims,
} from "./provider-answer.ts";

export type ProviderOptions = {
  /** https, or http on a loopback name. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** With spaces between them, `openid` among them. */
  readonly scope: string;
  /** Where the provider sends browsers back to after a login, and after a logout. */
  readonly callbackUrl: string;
  readonly loggedOutUrl: string;
  readonly claims: ClaimRules;
};

type Tokens = Awaited<ReturnType<typeof refreshTokenGrant>>;

/** What a provider is asked. Each rejects with `provider_unreachable` where it gives no answer. */
export class Provider {
  readonly #options: ProviderOptions;
  readonly #log: Pick<Log, "info" | "warn">;
  #configuration: Promise<Configuration> | undefined;
  /** Told once, however often it is tried. */
  #isMissed = false;

  constructor(options: ProviderOptions, log: Pick<Log, "info" | "warn">) {
    this.#options = options;
    this.#log = log;
  }

  /** Finds out where the provider's endpoints are, unless that is known. */
  async discover(): Promise<void> {
    await this.#discovered();
  }

  /** Where a browser is sent to log in. */
  async loginUrl(begun: BegunLogin): Promise<URL> {
    const configuration = await this.#discovered();
    const { scope, callbackUrl } = this.#options;
    return buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: callbackUrl, scope, state: begun.state, nonce: begun.nonce },
      code_challenge: await calculatePKCECodeChallenge(begun.codeVerifier),
      code_challenge_method: "S256",
      // Core 1.0, 11: the user has to agree to that each time.
      ...(scope.split(" ").includes("offline_access") ? { prompt: "consent" } : {}),
    });
  }

  /**
   * Who came back with that query. `login_refused`: the provider says no, or what it says does not fit what was begun, is
   * not signed by it, is not for this server, or has expired.
   */
  async finish(search: string, begun: BegunLogin): Promise<ProviderAnswer> {
    const configuration = await this.#discovered();
    const url = new URL(search, this.#options.callbackUrl);
    return await this.#asking("login", async () => {
      const tokens = await authorizationCodeGrant(configuration, url, {
        ...{ pkceCodeVerifier: begun.codeVerifier, expectedState: begun.state, expectedNonce: begun.nonce },
        idTokenExpected: true,
      });
      const claims = await claimsOf(configuration, tokens, Claims.parse(tokens.claims()));
      const user = this.#userOf(claims, configuration.serverMetadata().issuer);
      return { ...standing(tokens, {}), subject: claims.sub, user };
    });
  }

  /**
   * Asks whether a login still stands, and with which claims: those of the ID token and of the userinfo endpoint, where the
   * provider gives either. `login_refused`: it does not, it is somebody else's, or its claims would not log in as the same user.
   */
  async renew(login: ProviderAnswer): Promise<ProviderAnswer> {
    const { refreshToken, subject } = login;
    if (refreshToken === undefined) return login;
    const configuration = await this.#discovered();
    return await this.#asking("renewal", async () => {
      const tokens = await refreshTokenGrant(configuration, refreshToken);
      const renewed = tokens.claims();
      if (renewed !== undefined && renewed.sub !== subject) {
        throw new ServiceError("login_refused", "the provider renews the login of somebody else");
      }
      const user = await this.#renewedUser(configuration, tokens, login);
      return { ...login, ...standing(tokens, login), user };
    });
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
    const user = this.#userOf(await claimsOf(configuration, tokens, known), issuer);
    if (user.login === before.login) return user;
    throw new ServiceError("login_refused", "the provider gives this account another user name now");
  }

  /** Where a browser is sent to log out at the provider; `undefined`: it has no such place. */
  async logoutUrl(idToken: string | undefined): Promise<URL | undefined> {
    const configuration = await this.#discovered();
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
      throw new ServiceError(
        "login_refused",
        `the provider's claim ${missing} is not one that is let in here`,
      );
    }
    const user = userOfClaims(claims, issuer, rules);
    if (user === undefined) throw new ServiceError("login_refused", "the provider names nobody");
    return user;
  }

  /** A failure stands for a moment, so that strangers cannot make the server ask all the time. */
  #discovered(): Promise<Configuration> {
    if (this.#configuration === undefined) {
      this.#configuration = this.#discover();
      this.#configuration.catch(() => {
        setTimeout(() => {
          this.#configuration = undefined;
        }, RETRY_FIRST_MS).unref();
      });
    }
    return this.#configuration;
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    const url = new URL(issuer);
    const execute = [enableNonRepudiationChecks];
    // The configuration lets http through to this machine alone.
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
      throw unreachable(issuer, error);
    }
  }

  async #asking<T>(what: string, ask: () => Promise<T>): Promise<T> {
    const { issuer } = this.#options;
    try {
      return await ask();
    } catch (error) {
      this.#log.warn({ issuer, what, ...reasonOf(error) }, "login provider gave no login");
      if (error instanceof ServiceError) throw error;
      if (isNoAnswer(error)) throw unreachable(issuer, error);
      const because = error instanceof AuthorizationResponseError ? `: ${printable(error.error)}` : "";
      throw new ServiceError("login_refused", `the provider did not log you in${because}`, { cause: error });
    }
  }
}

/** As the provider's metadata has it; by Discovery 1.0, 3, Basic is what all of them take. */
function proofOf(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...request);
  };
}

/** Claims that the ID token does not have, the userinfo endpoint may have. */
async function claimsOf(configuration: Configuration, tokens: Tokens, claims: Claims): Promise<Claims> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  return mergedClaims(
    claims,
    Claims.parse(await fetchUserInfo(configuration, tokens.access_token, claims.sub)),
  );
}

/** A provider may leave out of a renewal what has not changed. */
function standing(
  tokens: Tokens,
  before: Partial<ProviderAnswer>,
): Pick<ProviderAnswer, "idToken" | "refreshToken" | "validForMs"> {
  const validForS = tokens.expiresIn() ?? 0;
  return {
    idToken: tokens.id_token ?? before.idToken,
    refreshToken: tokens.refresh_token ?? before.refreshToken,
    validForMs: validForS > 0 ? validForS * 1000 : PROVIDER_ANSWER_LIFETIME_MS,
  };
}

/** No provider refuses anything so: it was late, what it said broke off, or somebody else spoke in its place. */
const NO_ANSWERS = ["OAUTH_TIMEOUT", "OAUTH_ABORT", "OAUTH_PARSE_ERROR", "OAUTH_RESPONSE_IS_NOT_JSON"];

/** By these it refuses, be it in words that cannot be read (RFC 6749, 5.2). */
const REFUSALS = [400, 401, 403];

/** Whether it is the provider that does not work, and not the login that is refused. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return isFailure(error.status);
  if (error instanceof ClientError) {
    const { code = "", cause } = error;
    if (cause instanceof Response && REFUSALS.includes(cause.status)) return false;
    return NO_ANSWERS.includes(code) || (cause instanceof Response && isFailure(cause.status));
  }
  // What fetch rejects with. A wrong argument of ours has a code.
  return error instanceof TypeError && !("code" in error);
}

/** Of an answer that is not what was asked for. */
function isFailure(status: number): boolean {
  return status < 400 || status >= 500 || status === 429 || status === 408;
}

function unreachable(issuer: string, cause: unknown): ServiceError {
  const message = `the login provider ${issuer} does not answer: try again in a moment`;
  return new ServiceError("provider_unreachable", message, { cause, details: { retryAfterSeconds: 5 } });
}

/** For the log: words alone, because what libraries attach to errors holds codes and tokens. */
function reasonOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { reason: String(error) };
  const code = "code" in error ? { code: error.code } : {};
  const said = "error" in error && typeof error.error === "string" ? { said: printable(error.error) } : {};
  const below = error.cause instanceof Error ? { because: error.cause.message } : {};
  return { reason: error.message, ...code, ...said, ...below };
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100);
}

/**
 * Looks for a provider from now on, with longer and longer pauses, until it is found: the server starts without it, and
 * the first who logs in need not wait. Whoever logs in meanwhile has it looked for as well.
 */
export function keepDiscovering(provider: { discover(): Promise<void> }, random: () => number): Disposable {
  const backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const attempt = (): void => {
    provider.discover().catch(() => {
      if (!isOver) timer = setTimeout(attempt, backoff.next()).unref();
    });
  };
  attempt();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
