// The configuration of a server in a container: all in variables, so that its arguments belong to the test.

/** A name and a password. */
export type Login = { readonly username: string; readonly password: string };

export type ServerRole =
  | { readonly kind: "standalone"; readonly login: Login | undefined }
  /** `joinToken`: allows remotes of any name and number to join. */
  | { readonly kind: "hq"; readonly login: Login; readonly joinToken?: string | undefined }
  /** `hqUrl`: the HQ's address in their network. `joinToken`: its credential there, instead of the login. */
  | {
      readonly kind: "remote";
      readonly login: Login;
      readonly hqUrl: string;
      readonly joinToken?: string | undefined;
    };

/** In the container. */
export type TlsPaths = { readonly cert: string; readonly key: string; readonly ca: string };

export type Variables = Readonly<Record<string, string>>;

/** Tests may exceed the limits, and people read the log after failures. */
const CALM = { TTYHQ_RATE_LIMIT_API: "0", TTYHQ_RATE_LIMIT_SESSIONS: "0", TTYHQ_LOG_FORMAT: "text" };

/** `url`: the server's own address in its network. */
export function serverEnvironment(
  role: ServerRole,
  { name, url, tls }: { readonly name: string; readonly url: string; readonly tls: TlsPaths | undefined },
): Variables {
  const certificate: Variables =
    tls === undefined ? {} : { TTYHQ_TLS_CERT: tls.cert, TTYHQ_TLS_KEY: tls.key };
  const authority: Variables = tls === undefined || role.kind === "standalone" ? {} : { TTYHQ_HQ_CA: tls.ca };
  return { ...CALM, ...certificate, ...authority, ...ofRole(role, name, url) };
}

function ofRole(role: ServerRole, name: string, url: string): Variables {
  if (role.kind === "hq") {
    const { login, joinToken } = role;
    return {
      ...{ TTYHQ_HQ: "true", TTYHQ_USERNAME: login.username, TTYHQ_PASSWORD: login.password },
      ...(joinToken === undefined ? {} : { TTYHQ_JOIN_TOKEN: joinToken, TTYHQ_JOIN_TOKEN_NAME: "*" }),
    };
  }
  const login: Variables =
    role.login === undefined
      ? {}
      : { SERVICE_USERNAME: role.login.username, SERVICE_PASSWORD: role.login.password };
  return role.kind === "standalone" ? login : { ...login, ...ofRemote(role, name, url) };
}

function ofRemote(
  { login, hqUrl, joinToken }: Extract<ServerRole, { kind: "remote" }>,
  name: string,
  url: string,
): Variables {
  return {
    TTYHQ_HQ_URL: hqUrl,
    ...(joinToken === undefined
      ? { TTYHQ_HQ_USERNAME: login.username, TTYHQ_HQ_PASSWORD: login.password }
      : { TTYHQ_JOIN_TOKEN: joinToken }),
    TTYHQ_NAME: name,
    TTYHQ_REMOTE_URL: url,
    ...(hqUrl.startsWith("http:") ? { TTYHQ_ALLOW_INSECURE_HQ: "true" } : {}),
  };
}
