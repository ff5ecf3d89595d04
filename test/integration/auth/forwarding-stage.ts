// The reverse proxy in front of a test's replacement for the server, with a logged-in user.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { connectionOf } from "../../../src/http/client-address.ts";
import { Listener } from "../../../src/http/listener.ts";
import { refuse, sendError } from "../../../src/http/reply.ts";
import { memoryRecords } from "../../../src/lib/data/live-records.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createLogger } from "../../../src/log.ts";
import { OwnPages } from "../../../src/proxy/own-pages.ts";
import { Provider } from "../../../src/proxy/provider/provider.ts";
import type { ProviderAnswer } from "../../../src/proxy/provider/provider-answer.ts";
import { ProviderLogins } from "../../../src/proxy/provider/provider-logins.ts";
import { ReverseProxy } from "../../../src/proxy/reverse-proxy.ts";
import { CertificateAuthority } from "../../unit/certificate-authority.ts";
import { TlsClient } from "../harness/tls-client.ts";

const authority = new CertificateAuthority("private authority");
export const CA = new TextDecoder().decode(authority.cert);
export const PROOF = "the proof of this start";
const audit = { write: () => undefined };
const log = createLogger({ level: "silent", destination: { write: () => true } });

export class ForwardingStage implements AsyncDisposable {
  readonly url: string;
  /** The cookie of a logged-in user. */
  readonly cookie: string;
  readonly upstream: Server;
  readonly proxy: ReverseProxy;
  readonly logins: ProviderLogins;
  readonly #scope: AsyncDisposableStack;

  private constructor(
    parts: Pick<ForwardingStage, "url" | "cookie" | "upstream" | "proxy" | "logins">,
    scope: AsyncDisposableStack,
  ) {
    ({ url: this.url, cookie: this.cookie, upstream: this.upstream } = parts);
    ({ proxy: this.proxy, logins: this.logins } = parts);
    this.#scope = scope;
  }

  /** `renew`: whether an unknown login is valid; true unless a test overrides it. */
  static async open(
    answer: RequestListener,
    { renew = async (last: ProviderAnswer) => last } = {},
  ): Promise<ForwardingStage> {
    await using scope = new AsyncDisposableStack();
    const upstream = createServer(answer);
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    scope.defer(() => end(upstream));
    const seal = new Seal(Secret.fromText(PROOF));
    const logins = new ProviderLogins({
      ...{ records: memoryRecords(Date.now), seal, renew, now: Date.now, random: Math.random },
    });
    const places = { callbackUrl: "https://localhost/.proxy/callback", loggedOutUrl: "https://localhost/" };
    const client = {
      issuer: "http://127.0.0.1:1",
      clientId: "x",
      clientSecret: Secret.fromText("x"),
      scope: "openid",
      claims: { nameClaim: undefined, required: new Map(), named: new Set<string>() },
    };
    const provider = new Provider({ ...client, ...places }, log);
    const pages = new OwnPages({
      ...{ provider, logins, seal },
      origin: "https://localhost",
      clientOf: connectionOf,
      mayLogIn: () => true,
      admit: (_, prove) => prove(),
      ...{ audit, log },
    });
    const proxy = scope.use(
      new ReverseProxy({
        ...{ login: { pages, logins }, proof: Secret.fromText(PROOF), clientOf: connectionOf, log },
        answers: { error: sendError, refuse },
      }),
    );
    const place = { host: "127.0.0.1", port: 0 };
    const listener = scope.use(
      await Listener.open(place, proxy, authority.issue(["localhost", "127.0.0.1"])),
    );
    const address = upstream.address();
    proxy.forwardTo(typeof address === "object" && address !== null ? address.port : 0);
    const user = { login: "ada", name: undefined, picture: undefined };
    const cookie = await logins.begin({
      ...{ subject: "1", user, idToken: undefined, refreshToken: undefined, validForMs: 3_600_000 },
    });
    const url = `https://localhost:${listener.port}`;
    return new ForwardingStage(
      { url, upstream, proxy, logins, cookie: `__Host-ttyhq-login=${cookie}` },
      scope.move(),
    );
  }

  client(): TlsClient {
    return new TlsClient({ ca: CA });
  }

  /** The answer to these raw lines, sent with a login. The connection is closed afterwards. */
  async say(lines: readonly string[], body = ""): Promise<string> {
    const socket = await this.client().raw(this.url);
    const { host } = new URL(this.url);
    const head = [
      ...lines.map((line) => line.replace("$HOST", host)),
      `Cookie: ${this.cookie}`,
      "Connection: close",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    return await textOf(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.disposeAsync();
  }
}

async function textOf(socket: Duplex): Promise<string> {
  let text = "";
  try {
    for await (const chunk of socket) text += String(chunk);
  } catch {
    // A connection that is reset has already delivered its answer.
  }
  return text;
}

async function end(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, "close");
}
