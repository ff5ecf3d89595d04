import { errorMessage, ServiceError } from "../protocol/errors.ts";

type Place = { readonly url: string } | { readonly socketPath: string };

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]);
/** OpenSSL's messages for an answer without TLS; the code is mostly just EPROTO. */
const NO_TLS = /wrong version number|packet length too long/;

/** The reason of a failed connection as `host_unreachable`, with a remedy if there is one. `what`: such as "no answer". */
export function unreachable(place: Place, what: string, cause: Error): ServiceError {
  return new ServiceError("host_unreachable", `${what}: ${reasonOf(place, cause)}`, { cause });
}

function reasonOf(place: Place, cause: Error): string {
  // Node gives no message to a failure at all addresses of a name.
  if (cause instanceof AggregateError) return cause.errors.map(errorMessage).join("; ");
  if (!("url" in place)) return cause.message;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const reason = tlsReason(code, cause.message);
  return reason === undefined ? cause.message : `${place.url}: ${reason}`;
}

function tlsReason(code: string, message: string): string | undefined {
  if (UNKNOWN_AUTHORITY.has(code)) {
    return "its certificate is signed by an unknown authority: trust that authority with --hq-ca, or for every program with NODE_EXTRA_CA_CERTS";
  }
  if (NO_TLS.test(message)) {
    return "it does not serve https: use http:// in its address, or start it with --tls-cert and --tls-key";
  }
  switch (code) {
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `its certificate is for another name: use a name in the certificate, or issue one for this name (${message})`;
    case "CERT_HAS_EXPIRED":
      return "its certificate has expired: renew it";
    case "CERT_NOT_YET_VALID":
      return "its certificate is not valid yet: check the clocks of both machines";
    default:
      return undefined;
  }
}
