// The part of the option table about reverse proxies: our own, and others in front (specification 5.4, contract 5.9).
import { isLoopbackName } from "../../lib/net/address.ts";
import { formatOrigin, parseOrigin } from "../../lib/net/origin.ts";
import { file, list, type Role, secret, toggle, value } from "./option.ts";
import { certificates } from "./pem.ts";
import { addressRange, socketAddress } from "./value.ts";

const SERVER: readonly Role[] = ["server"];
const CLAIM = /^[!-<>-~]{1,256}$/;
const SCOPE = /^[!#-[\]-~]{1,256}$/;

export const PROXY_OPTIONS = {
  enableProxyServe: toggle({
    name: "enable-proxy-serve",
    prose:
      "Listen on 127.0.0.1 and be reached through a reverse proxy that says who asks, by the headers proxy-user-login, proxy-user-name and proxy-user-profile-pic. One is started on `--proxy-listen`.",
    roles: SERVER,
  }),
  proxyExternal: toggle({
    name: "proxy-external",
    prose:
      "With `--enable-proxy-serve`: start none, another proxy on this machine sets the headers. Whoever else runs programs here can set them, too.",
    roles: SERVER,
  }),
  proxyListen: value({
    name: "proxy-listen",
    placeholder: "address:port",
    parse: socketAddress,
    fallback: { host: "0.0.0.0", port: 4443 },
    fallbackText: "0.0.0.0:4443",
    prose:
      "Where the reverse proxy of `--enable-proxy-serve` listens, with the certificate of `--tls-cert` and `--tls-key`.",
    roles: SERVER,
  }),
  proxyClientCa: file({
    name: "proxy-client-ca",
    parse: certificates,
    prose:
      "Authorities, in PEM form, whose client certificates prove who asks: the e-mail address of one, or else its common name.",
    roles: SERVER,
  }),
  proxyOidcIssuer: value<string | undefined>({
    name: "proxy-oidc-issuer",
    placeholder: "url",
    parse: issuerUrl,
    fallback: undefined,
    fallbackText: "",
    prose: "OpenID Connect provider that proves who asks, such as https://id.example.com.",
    roles: SERVER,
  }),
  proxyOidcClientId: value<string | undefined>({
    name: "proxy-oidc-client-id",
    placeholder: "id",
    parse: (text) => text,
    fallback: undefined,
    fallbackText: "",
    prose: "What that provider knows this server as.",
    roles: SERVER,
  }),
  proxyOidcClientSecret: secret({
    name: "proxy-oidc-client-secret",
    minBytes: 1,
    prose: "What this server proves itself to that provider with.",
    roles: SERVER,
  }),
  proxyOidcScope: value({
    name: "proxy-oidc-scope",
    placeholder: "scopes",
    parse: scopes,
    fallback: "openid profile email",
    fallbackText: "openid profile email",
    prose:
      "What is asked of that provider, with spaces between: add offline_access where it gives refresh tokens for nothing else. With a refresh token it is asked again and again whether a login still stands; without one a login lasts 12 hours.",
    roles: SERVER,
  }),
  proxyOidcClaim: value<string | undefined>({
    name: "proxy-oidc-claim",
    placeholder: "claim",
    parse: claimName,
    fallback: undefined,
    fallbackText: "",
    prose:
      "Claim of that provider that is trusted as the user name, such as preferred_username or upn, where its users cannot choose it. Without it: the email, if `email_verified` is true.",
    roles: SERVER,
  }),
  proxyOidcGroups: value<string | undefined>({
    name: "proxy-oidc-groups",
    placeholder: "claim",
    parse: claimName,
    fallback: undefined,
    fallbackText: "",
    prose: "Claim of that provider that lists a user's groups, such as groups, for `--role %group=role`.",
    roles: SERVER,
  }),
  proxyOidcRequire: list({
    name: "proxy-oidc-require",
    placeholder: "claim=value",
    parse: requiredClaim,
    prose:
      "A claim that a login at that provider must have, such as tid=... or hd=example.com, to keep other tenants out. Of several values of one claim any will do.",
    roles: SERVER,
  }),
  proxyUrl: value<string | undefined>({
    name: "proxy-url",
    placeholder: "origin",
    parse: httpsOrigin,
    fallback: undefined,
    fallbackText: "",
    prose:
      "Address under which browsers reach the reverse proxy, such as https://term.example.com; the provider sends them back to its /.proxy/callback, and to /.proxy/logged-out after a logout. Without it: made of the machine's name and the port.",
    roles: SERVER,
  }),
  trustedProxy: list({
    name: "trusted-proxy",
    placeholder: "range",
    parse: addressRange,
    prose:
      "Address of a reverse proxy, or a range that holds nothing but proxies, whose X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host are believed.",
    roles: SERVER,
  }),
} as const;

function claimName(text: string): string {
  if (!CLAIM.test(text)) throw new RangeError("must be the name of one claim, such as upn");
  return text;
}

function requiredClaim(text: string): { readonly claim: string; readonly value: string } {
  const [claim = "", ...rest] = text.split("=");
  const value = rest.join("=");
  if (!CLAIM.test(claim) || value === "") {
    throw new RangeError("must be claim=value, such as hd=example.com");
  }
  return { claim, value };
}

/** `openid` makes it OpenID Connect (Core 1.0, 3.1.2.1). */
function scopes(text: string): string {
  const all = text.split(" ").filter((scope) => scope !== "");
  if (!all.includes("openid") || !all.every((scope) => SCOPE.test(scope))) {
    throw new RangeError("must be scopes with spaces between them, openid among them");
  }
  return all.join(" ");
}

/** The proxy speaks TLS, and its cookies are for nothing else. */
function httpsOrigin(text: string): string {
  const parsed = parseOrigin(text.replace(/\/$/, ""));
  if (parsed?.scheme !== "https") {
    throw new RangeError("must be https://host[:port] and nothing more, such as https://term.example.com");
  }
  return formatOrigin(parsed);
}

/**
 * An issuer may have a path (OpenID Connect Discovery 1.0, 4.1), and nothing after that. What it says over http, anybody
 * on the way may have said.
 */
function issuerUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain =
    url !== null && url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  const isLocal = url?.protocol === "http:" && isLoopbackName(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  if (!isPlain || (url.protocol !== "https:" && !isLocal)) {
    throw new RangeError("must be the https url of a provider, such as https://id.example.com");
  }
  return text;
}
