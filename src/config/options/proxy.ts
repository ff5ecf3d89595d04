// The options of reverse proxies: our own, and others in front (specification 5.4, contract 5.9).
import { isLoopbackName, urlHost } from "../../lib/net/address.ts";
import { formatOrigin, parseOrigin } from "../../lib/net/origin.ts";
import { file, list, optional, secret, toggle, value } from "./option.ts";
import { addressRange, certificates, checked, socketAddress } from "./value.ts";

const claimName = checked((text) => CLAIM.test(text), "the name of one claim, such as upn");
const CLAIM = /^[!-<>-~]{1,256}$/;
const ISSUER = "the https url of a provider, such as https://id.example.com";
const SCOPE = /^[!#-[\]-~]{1,256}$/;

/** Only for the proxy that the server starts. */
export const OWN_PROXY_OPTIONS = {
  proxyListen: value("proxy-listen <address:port>", socketAddress, {
    fallback: "0.0.0.0:4443",
    prose:
      "Where the reverse proxy of `--enable-proxy-serve` listens, with the certificate of `--tls-cert` and `--tls-key`.",
  }),
  proxyClientCa: file("proxy-client-ca", certificates, {
    prose:
      "Authorities, in PEM form, whose client certificates authenticate users: by the e-mail address in the certificate, otherwise its common name.",
  }),
  proxyOidcIssuer: optional("proxy-oidc-issuer <url>", checked(isIssuer, ISSUER), {
    prose: "OpenID Connect provider that authenticates users, such as https://id.example.com.",
  }),
  proxyOidcClientId: optional("proxy-oidc-client-id <id>", (text) => text, {
    prose: "This server's client ID at that provider.",
  }),
  proxyOidcClientSecret: secret("proxy-oidc-client-secret", {
    minBytes: 1,
    prose: "This server's client secret at that provider.",
  }),
  proxyOidcScope: value("proxy-oidc-scope <scopes>", scopes, {
    fallback: "openid profile email",
    prose:
      "Scopes requested from that provider, separated by spaces: add offline_access if it issues refresh tokens only for that scope. With a refresh token the server regularly asks the provider whether a login is still valid; without one a login lasts 12 hours.",
  }),
  proxyOidcClaim: optional("proxy-oidc-claim <claim>", claimName, {
    prose:
      "Claim of that provider that is the user name, such as preferred_username or upn; only safe if users cannot choose it. Default: the email, if `email_verified` is true.",
  }),
  proxyOidcGroups: optional("proxy-oidc-groups <claim>", claimName, {
    prose: "Claim of that provider that lists a user's groups, such as groups, for `--role %group=role`.",
  }),
  proxyOidcRequire: list("proxy-oidc-require <claim=value>", requiredClaim, {
    prose:
      "A claim that a login at that provider must have, such as tid=... or hd=example.com, to keep other tenants out. Of several values of one claim any is enough.",
  }),
  proxyUrl: optional("proxy-url <origin>", httpsOrigin, {
    prose:
      "Address at which browsers reach the reverse proxy, such as https://term.example.com; the provider redirects to its /.proxy/callback, and to /.proxy/logged-out after a logout. Default: the machine's host name and the port.",
  }),
} as const;

export const PROXY_OPTIONS = {
  enableProxyServe: toggle("enable-proxy-serve", {
    prose:
      "Listen on 127.0.0.1 behind a reverse proxy that authenticates users and names them in the headers proxy-user-login, proxy-user-name and proxy-user-profile-pic. The server starts one on `--proxy-listen`.",
  }),
  proxyExternal: toggle("proxy-external", {
    prose:
      "With `--enable-proxy-serve`: start no proxy, because another one on this machine sets the headers. Every other program on this machine can set them too.",
  }),
  ...OWN_PROXY_OPTIONS,
  trustedProxy: list("trusted-proxy <range>", addressRange, {
    prose:
      "Address of a reverse proxy, or a range that contains only proxies, whose X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host the server trusts.",
  }),
} as const;

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

/** An issuer may have a path and nothing after it (OpenID Connect Discovery 1.0, 4.1). Plain http is not authentic. */
function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || `${url.search}${url.hash}${url.username}${url.password}` !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackName(urlHost(url)));
}
