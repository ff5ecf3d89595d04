// A server behind its own reverse proxy, on loopback.
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { CLIENT_SECRET } from "./login-provider.ts";
import type { OpensslAuthority } from "./openssl-authority.ts";
import { NO_LIMITS, TestServer as Server, type TestServer } from "./test-server.ts";

/** The future address of a proxy that does not run yet. */
export async function proxyOrigin(): Promise<string> {
  return `https://localhost:${await freePort()}`;
}

/** `args`: the login method, and further options. */
export async function proxiedServer(options: {
  readonly origin: string;
  readonly authority: OpensslAuthority;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly asProcess?: boolean;
}): Promise<TestServer> {
  const { origin, authority, args, env, asProcess = false } = options;
  const { certFile, keyFile } = await authority.issue({ subject: "/CN=localhost", names: "DNS:localhost" });
  const port = new URL(origin).port;
  const tls = ["--tls-cert", certFile, "--tls-key", keyFile];
  const proxy = ["--enable-proxy-serve", "--proxy-listen", `127.0.0.1:${port}`, "--proxy-url", origin];
  return await Server.start({
    asProcess,
    args: ["--session-host", "inline", ...NO_LIMITS, ...tls, ...proxy, ...args],
    env: {
      SERVICE_USERNAME: "server",
      SERVICE_PASSWORD: "correct horse",
      ...(args.includes("--proxy-oidc-issuer") ? { TTYHQ_PROXY_OIDC_CLIENT_SECRET: CLIENT_SECRET } : {}),
      ...env,
    },
  });
}
