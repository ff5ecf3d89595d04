// A provider, and a server behind its own proxy with logins there, for the tests of one file.
import { afterAll, afterEach, beforeAll } from "vitest";
import { ADA, LoginProvider, type LoginProviderOptions, logInAt } from "../harness/login-provider.ts";
import { OpensslAuthority } from "../harness/openssl-authority.ts";
import { proxiedServer, proxyOrigin } from "../harness/proxied-server.ts";
import type { TestServer } from "../harness/test-server.ts";
import { type Page, TlsClient } from "../harness/tls-client.ts";

/** The cookie of a logged-in browser. */
export const LOGIN_COOKIE = "__Host-ttyhq-login";

export class OidcStage implements AsyncDisposable {
  readonly authority: OpensslAuthority;
  readonly provider: LoginProvider;
  readonly server: TestServer;
  readonly origin: string;
  readonly #scope: AsyncDisposableStack;
  #strangers = 0;

  /** Short names for common requests. */
  get tools() {
    const { provider, origin, authority, server } = this;
    return {
      ...{ provider, origin, authority, server },
      browser: () => this.browser(),
      userOf: (client: TlsClient) => this.userOf(client),
    };
  }

  private constructor(
    parts: Pick<OidcStage, "authority" | "provider" | "server" | "origin">,
    scope: AsyncDisposableStack,
  ) {
    ({
      authority: this.authority,
      provider: this.provider,
      server: this.server,
      origin: this.origin,
    } = parts);
    this.#scope = scope;
  }

  /** `args`: in addition to those of the provider. `users`: those who may log in, by default everybody. */
  static async open(
    options: Omit<LoginProviderOptions, "origins"> & {
      readonly isDown?: boolean;
      readonly args?: (authority: OpensslAuthority) => readonly string[];
      readonly users?: (issuer: string) => readonly string[];
    } = {},
  ): Promise<OidcStage> {
    const { isDown = false, args = () => [], users = everybody, ...more } = options;
    await using scope = new AsyncDisposableStack();
    const authority = scope.use(await OpensslAuthority.make());
    const origin = await proxyOrigin();
    const provider = scope.use(await LoginProvider.start({ origins: [origin], ...more }, isDown));
    const all = [...provider.args, ...users(provider.issuer), ...args(authority)];
    const server = scope.use(await proxiedServer({ origin, authority, args: all }));
    return new OidcStage({ authority, provider, server, origin }, scope.move());
  }

  /** Without cookies. */
  browser(): TlsClient {
    return new TlsClient({ ca: this.authority.cert });
  }

  /** A browser at an address of its own, with its own limit of failed logins. */
  stranger(): TlsClient {
    this.#strangers += 1;
    return new TlsClient({ ca: this.authority.cert, localAddress: `127.0.1.${this.#strangers}` });
  }

  /** The final address after pressing every button. */
  logIn(client: TlsClient, path = "/"): Promise<Page> {
    return logInAt(client, `${this.origin}${path}`);
  }

  async isLoggedIn(client: TlsClient): Promise<boolean> {
    return (await client.ask(`${this.origin}/api/auth/config`)).status === 200;
  }

  async userOf(client: TlsClient): Promise<unknown> {
    return (await client.ask(`${this.origin}/api/auth/config`)).json.user;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.disposeAsync();
  }
}

function everybody(): readonly string[] {
  return ["--allow-user", "*"];
}

/**
 * Opened before the tests of the file; each test starts with an unchanged provider. The returned function is for use
 * within tests.
 */
export function useOidcStage(options: Parameters<typeof OidcStage.open>[0] = {}): () => OidcStage {
  let stage: OidcStage | undefined;
  beforeAll(async () => {
    stage = await OidcStage.open(options);
  });
  afterEach(() => {
    if (stage === undefined) return;
    stage.provider.person = ADA;
    stage.provider.bend = undefined;
    stage.provider.forge = undefined;
    stage.provider.gone.clear();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());
  return () => {
    if (stage === undefined) throw new Error("the server or the provider did not start");
    return stage;
  };
}
