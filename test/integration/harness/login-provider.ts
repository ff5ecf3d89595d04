// A real OpenID Connect provider on loopback. People log in by pressing a button; tests can modify signed tokens.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import jwt from "jsonwebtoken";
import { type Configuration, Provider } from "oidc-provider";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import type { Page, TlsClient } from "./tls-client.ts";

export type Person = Readonly<Record<string, unknown>>;

export type LoginProviderOptions = {
  /** The origins of the proxies that use it. */
  readonly origins: readonly string[];
  /** The lifetime of an access token at first, in seconds. */
  readonly accessTokenLifetime?: number;
  /** Whether it always issues refresh tokens; otherwise only for the scope offline_access. */
  readonly refreshes?: boolean;
  /** The scopes that clients may request. */
  readonly configuration?: Configuration;
};

export const ADA: Person = { sub: "1", email: "ada@example.com", email_verified: true, name: "Ada Lovelace" };
export const CLIENT_ID = "ttyhq";
export const CLIENT_SECRET = "the client secret, which is long enough to be one";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const SIGNING_KEY = { ...privateKey.export({ format: "jwk" }), kid: "first", alg: "RS256", use: "sig" };

export class LoginProvider implements AsyncDisposable {
  readonly issuer: string;
  /** The user who presses the button. */
  person: Person = ADA;
  /** Modifies the content of an ID token before it is signed; `undefined` leaves the token unchanged. */
  bend: ((claims: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Of those that it issues from now on, in seconds. */
  accessTokenLifetime: number;
  /** Replaces a whole ID token. */
  forge: ((token: string) => string) | undefined;
  /** Users who are no longer known: their tokens are not refreshed. */
  readonly gone = new Set<string>();
  /** One entry per issue of tokens: the grant, and the user. */
  readonly grants: string[] = [];
  readonly #options: LoginProviderOptions;
  readonly #port: number;
  readonly #people = new Map<string, Person>();
  #server: Server | undefined;

  private constructor(options: LoginProviderOptions, port: number) {
    this.#options = options;
    this.accessTokenLifetime = options.accessTokenLifetime ?? 3600;
    this.#port = port;
    this.issuer = `http://127.0.0.1:${port}`;
  }

  /** With `isDown` it does not listen yet: see `up`. */
  static async start(options: LoginProviderOptions, isDown = false): Promise<LoginProvider> {
    const provider = new LoginProvider(options, await freePort());
    if (!isDown) await provider.up();
    return provider;
  }

  /** In PEM form. */
  get publicKey(): string {
    return publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** The server's options for this provider. */
  get args(): readonly string[] {
    return ["--proxy-oidc-issuer", this.issuer, "--proxy-oidc-client-id", CLIENT_ID];
  }

  async up(): Promise<void> {
    const provider = this.#provider();
    const callback = provider.callback();
    this.#server = createServer((request, response) => {
      const answer = async (): Promise<void> => {
        if (request.url?.startsWith("/press/") === true) await this.#press(provider, request, response);
        else await callback(request, response);
      };
      answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Changes a user's claims from now on. */
  change(person: Person): void {
    this.#people.set(String(person.sub), person);
  }

  /** Loses all its state. */
  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }

  #provider(): Provider {
    const { origins, refreshes = true, configuration } = this.#options;
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          grant_types: ["authorization_code", "refresh_token"],
          redirect_uris: origins.map((origin) => `${origin}/.proxy/callback`),
          post_logout_redirect_uris: origins.map((origin) => `${origin}/.proxy/logged-out`),
        },
      ],
      jwks: { keys: [SIGNING_KEY] },
      cookies: { keys: ["a key of this test"] },
      claims: {
        openid: ["sub"],
        email: ["email", "email_verified"],
        profile: ["name", "picture", "preferred_username", "hd", "groups"],
      },
      ttl: {
        AccessToken: () => this.accessTokenLifetime,
        IdToken: 3600,
        Grant: 3600,
        Session: 3600,
        Interaction: 600,
        RefreshToken: 3600,
      },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true, logoutSource } },
      interactions: { url: (_, { uid }) => `/press/${uid}` },
      findAccount: (_, sub) => this.#account(sub),
      ...(refreshes ? { issueRefreshToken: () => true } : {}),
      ...configuration,
    });
    provider.on("server_error", (_, error) => console.error(error));
    provider.use(async (context, next) => {
      await next();
      const { oidc, body } = context;
      if (oidc?.route !== "token" || typeof body !== "object" || body === null) return;
      this.grants.push(`${oidc.params?.grant_type} ${oidc.account?.accountId}`);
      if ("id_token" in body) body.id_token = this.#bent(String(body.id_token));
    });
    return provider;
  }

  #account(sub: string): { accountId: string; claims: () => { sub: string } } | undefined {
    const person = this.#people.get(sub);
    if (person === undefined || this.gone.has(sub)) return undefined;
    return { accountId: sub, claims: () => ({ ...person, sub }) };
  }

  #bent(token: string): string {
    if (this.forge !== undefined) return this.forge(token);
    if (this.bend === undefined) return token;
    const claims = jwt.decode(token, { json: true }) ?? {};
    return jwt.sign(this.bend({ ...claims }), privateKey, { algorithm: "RS256", keyid: "first" });
  }

  /** GET shows the button, POST acts on it: the login, then the consent. */
  async #press(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (request.method !== "POST") {
      response.setHeader("content-type", "text/html");
      response.end(`<form method="post"><button>Sign in (${prompt.name})</button></form>`);
      return;
    }
    request.resume();
    if (prompt.name === "login") {
      const sub = String(this.person.sub);
      this.#people.set(sub, this.person);
      await provider.interactionFinished(request, response, { login: { accountId: sub } });
      return;
    }
    const grant =
      (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
      new provider.Grant({ accountId: session?.accountId ?? "", clientId: CLIENT_ID });
    grant.addOIDCScope(String(params.scope));
    const result = { consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }
}

/** A dialog without questions: the test, or a button, sends its form. */
async function logoutSource(context: { body: unknown }, form: string): Promise<void> {
  context.body = `<!doctype html>${form}<button autofocus type="submit" form="op.logoutForm" name="logout" value="yes">Yes</button>`;
}

/** Visits an address and presses every button of the provider; returns the final target. */
export async function logInAt(client: TlsClient, url: string): Promise<Page> {
  let page = await client.visit(url);
  while (page.url.includes("/press/")) page = await client.visit(page.url, { method: "POST" });
  return page;
}
