// HTTPS, and the identity-aware reverse proxy of --enable-proxy-serve (contract 5.9).
import type { Secret } from "../lib/secret.ts";
import type { LoginConfig } from "./login.ts";
import type { Option } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import { OWN_PROXY_OPTIONS } from "./options/proxy.ts";
import type { OptionReader } from "./sources/reader.ts";

/** A certificate with its intermediate certificates, and its key, in PEM form. */
type TlsConfig = { readonly cert: Uint8Array; readonly key: Secret };

/** With `clientCa`, `oidc` or both. */
export type ProxyServe = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls: TlsConfig;
  /** The origin for browsers; `undefined`: derived from the host name and the port. */
  readonly url: string | undefined;
  readonly clientCa: Uint8Array | undefined;
  readonly oidc: OidcClient | undefined;
};

export type OidcClient = NonNullable<ReturnType<typeof readOidc>>;

/** `undefined`: http. */
export function readTls(reader: OptionReader): TlsConfig | undefined {
  const cert = reader.file(OPTIONS.tlsCert);
  const key = reader.file(OPTIONS.tlsKey);
  const options = [OPTIONS.tlsCert, OPTIONS.tlsKey];
  reader.refuseIncomplete(options, "https needs the certificate and its key");
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** `undefined` without a proxy of our own. */
export function readProxyServe(
  reader: OptionReader,
  tls: TlsConfig | undefined,
  auth: LoginConfig,
): ProxyServe | undefined {
  // Without login there is nobody to authenticate.
  if (auth.mode === "none") return undefined;
  const oidc = readOidc(reader);
  const clientCa = reader.file(OPTIONS.proxyClientCa);
  const listen = reader.value(OPTIONS.proxyListen);
  const url = reader.value(OPTIONS.proxyUrl);
  const { identity } = auth;
  if (identity !== "own-proxy") {
    reader.refuseGiven(
      identity === undefined ? [...OF_OWN_PROXY, OPTIONS.proxyExternal] : OF_OWN_PROXY,
      "for the proxy that --enable-proxy-serve starts: give that alone, or leave it out",
    );
    return undefined;
  }
  if (reader.sourceOf(OPTIONS.tlsCert) === undefined) {
    reader.refuse("--enable-proxy-serve starts a proxy that speaks HTTPS: give --tls-cert and --tls-key");
  }
  if (reader.sourcesOf([OPTIONS.proxyClientCa, OPTIONS.proxyOidcIssuer]).length === 0) {
    reader.refuse(
      "--enable-proxy-serve needs to know how people prove who they are: give --proxy-client-ca for client certificates, --proxy-oidc-issuer for OpenID Connect, or --proxy-external where another proxy does it",
    );
  }
  if (reader.sourceOf(OPTIONS.proxyOidcIssuer) === undefined) {
    reader.refuseGiven(OF_CLAIMS, "for the provider of --proxy-oidc-issuer: give that, too, or leave it out");
  }
  return tls && { listen, tls, url, clientCa, oidc };
}

const OF_OIDC: readonly Option[] = [
  OPTIONS.proxyOidcIssuer,
  OPTIONS.proxyOidcClientId,
  OPTIONS.proxyOidcClientSecret,
];
const OF_CLAIMS: readonly Option[] = [
  OPTIONS.proxyOidcScope,
  OPTIONS.proxyOidcClaim,
  OPTIONS.proxyOidcGroups,
  OPTIONS.proxyOidcRequire,
];
const OF_OWN_PROXY = Object.values<Option>(OWN_PROXY_OPTIONS);

function readOidc(reader: OptionReader) {
  const issuer = reader.value(OPTIONS.proxyOidcIssuer);
  const clientId = reader.value(OPTIONS.proxyOidcClientId);
  const clientSecret = reader.secret(OPTIONS.proxyOidcClientSecret);
  const scope = reader.value(OPTIONS.proxyOidcScope);
  reader.refuseIncomplete(OF_OIDC, "OpenID Connect needs all three");
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const claims = Map.groupBy(reader.list(OPTIONS.proxyOidcRequire), ({ claim }) => claim);
  return {
    issuer,
    clientId,
    clientSecret,
    /** Separated by spaces. */
    scope,
    /** The claim with the user name; `undefined`: the verified email. */
    nameClaim: reader.value(OPTIONS.proxyOidcClaim),
    groupsClaim: reader.value(OPTIONS.proxyOidcGroups),
    /** Each of these claims must have one of its values. */
    required: new Map([...claims].map(([claim, pairs]) => [claim, pairs.map(({ value }) => value)])),
  } as const;
}
