// HTTPS, and the identity-aware reverse proxy of --enable-proxy-serve (contract 5.9).
import type { Secret } from "../lib/secret.ts";
import type { LoginConfig } from "./login.ts";
import { type Option, titleOf } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import type { OptionReader } from "./sources/reader.ts";

/** A certificate with its intermediate certificates, and its key, in PEM form. */
export type TlsConfig = { readonly cert: Uint8Array; readonly key: Secret };

/** With `clientCa`, `oidc` or both. */
export type ProxyServe = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls: TlsConfig;
  /** The origin for browsers; `undefined`: derived from the host name and the port. */
  readonly url: string | undefined;
  readonly clientCa: Uint8Array | undefined;
  readonly oidc: OidcClient | undefined;
};

export type OidcClient = {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Separated by spaces. */
  readonly scope: string;
  /** The claim with the user name; `undefined`: the verified email. */
  readonly nameClaim: string | undefined;
  readonly groupsClaim: string | undefined;
  /** Each of these claims must have one of its values. */
  readonly required: ReadonlyMap<string, readonly string[]>;
};

/** `undefined`: http. */
export function readTls(reader: OptionReader): TlsConfig | undefined {
  const cert = reader.file(OPTIONS.tlsCert);
  const key = reader.file(OPTIONS.tlsKey);
  const certSource = reader.sourceOf(OPTIONS.tlsCert);
  const keySource = reader.sourceOf(OPTIONS.tlsKey);
  if ((certSource === undefined) !== (keySource === undefined)) {
    const missing = certSource === undefined ? "--tls-cert" : "--tls-key";
    const set = certSource ?? keySource;
    reader.refuse(`${set} is set without ${missing}: https needs the certificate and its key`);
  }
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** Behind our own proxy the server speaks plain HTTP on a loopback address; the proxy uses the certificate. */
export function readProxyServe(
  reader: OptionReader,
  tls: TlsConfig | undefined,
  auth: LoginConfig,
): { readonly tls: TlsConfig | undefined; readonly proxyServe: ProxyServe | undefined } {
  // Without login there is nobody to authenticate.
  if (auth.mode === "none") return { tls, proxyServe: undefined };
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
    return { tls, proxyServe: undefined };
  }
  if (reader.sourceOf(OPTIONS.tlsCert) === undefined) {
    reader.refuse("--enable-proxy-serve starts a proxy that speaks HTTPS: give --tls-cert and --tls-key");
  }
  if (PROOFS.every((option) => reader.sourceOf(option) === undefined)) {
    reader.refuse(
      "--enable-proxy-serve needs to know how people prove who they are: give --proxy-client-ca for client certificates, --proxy-oidc-issuer for OpenID Connect, or --proxy-external where another proxy does it",
    );
  }
  if (tls === undefined) return { tls: undefined, proxyServe: undefined };
  return { tls: undefined, proxyServe: { listen, tls, url, clientCa, oidc } };
}

const PROOFS: readonly Option[] = [OPTIONS.proxyClientCa, OPTIONS.proxyOidcIssuer];
const OF_OIDC: readonly Option[] = [
  OPTIONS.proxyOidcIssuer,
  OPTIONS.proxyOidcClientId,
  OPTIONS.proxyOidcClientSecret,
];
const OF_OWN_PROXY: readonly Option[] = [
  ...OF_OIDC,
  OPTIONS.proxyOidcScope,
  OPTIONS.proxyOidcClaim,
  OPTIONS.proxyOidcGroups,
  OPTIONS.proxyOidcRequire,
  OPTIONS.proxyClientCa,
  OPTIONS.proxyListen,
  OPTIONS.proxyUrl,
];

function readOidc(reader: OptionReader): OidcClient | undefined {
  const issuer = reader.value(OPTIONS.proxyOidcIssuer);
  const clientId = reader.value(OPTIONS.proxyOidcClientId);
  const clientSecret = reader.secret(OPTIONS.proxyOidcClientSecret);
  const scope = reader.value(OPTIONS.proxyOidcScope);
  const given = OF_OIDC.filter((option) => reader.sourceOf(option) !== undefined);
  const missing = OF_OIDC.filter((option) => reader.sourceOf(option) === undefined);
  if (given.length > 0 && missing.length > 0) {
    const names = missing.map(titleOf).join(" and ");
    reader.refuse(`${given.map(titleOf).join(" and ")} without ${names}: OpenID Connect needs all three`);
  }
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const nameClaim = reader.value(OPTIONS.proxyOidcClaim);
  const groupsClaim = reader.value(OPTIONS.proxyOidcGroups);
  const all = Map.groupBy(reader.list(OPTIONS.proxyOidcRequire), ({ claim }) => claim);
  const required = new Map([...all].map(([claim, pairs]) => [claim, pairs.map(({ value }) => value)]));
  return { issuer, clientId, clientSecret, scope, nameClaim, groupsClaim, required };
}
