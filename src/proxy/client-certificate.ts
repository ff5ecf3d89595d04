import { TLSSocket } from "node:tls";
import { parseJson } from "../protocol/json.ts";
import { emailAddress, type ProxyUser, plainName, proxyUser } from "./proxy-user.ts";

type CertifiedUser = { readonly user: ProxyUser; readonly expiresAtMs: number };

/** As node:tls returns it. */
export type ClientCertificate = {
  readonly subjectaltname?: string | undefined;
  readonly subject?: Readonly<Record<string, unknown>> | undefined;
  readonly valid_to?: string | undefined;
};

/** One alternative name: its kind and value, as JSON if it has a character that looks like a separator. */
const ALTERNATIVE = /\s*([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:,|$)/y;

const known = new WeakMap<TLSSocket, CertifiedUser | "nobody">();

/**
 * The user of the connection's client certificate, which TLS verified. The date is checked for each request, because
 * connections and resumed sessions may outlive the certificate. There are no revocation lists: authorities should
 * issue short-lived certificates.
 */
export function certifiedUser(socket: unknown, nowMs: number): CertifiedUser | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const found = known.get(socket) ?? userOfCertificate(socket.getPeerCertificate()) ?? "nobody";
  known.set(socket, found);
  return found !== "nobody" && nowMs < found.expiresAtMs ? found : undefined;
}

/** The login is the e-mail address in the alternative names, otherwise in the subject, otherwise the common name. */
export function userOfCertificate(certificate: ClientCertificate): CertifiedUser | undefined {
  const { subject, subjectaltname, valid_to: validTo } = certificate;
  const commonName = one(subject?.CN);
  const user = proxyUser({
    logins: [...emailsOf(subjectaltname), emailAddress(one(subject?.emailAddress)), plainName(commonName)],
    name: commonName,
  });
  const expiresAtMs = Date.parse(validTo ?? "");
  return user === undefined || Number.isNaN(expiresAtMs) ? undefined : { user, expiresAtMs };
}

/** Malformed text yields nothing, because part of a name could be another name. */
function emailsOf(alternatives: string | undefined): readonly (string | undefined)[] {
  const found: (string | undefined)[] = [];
  const text = alternatives ?? "";
  ALTERNATIVE.lastIndex = 0;
  while (ALTERNATIVE.lastIndex < text.length) {
    const [, kind, value] = ALTERNATIVE.exec(text) ?? [];
    if (kind === undefined || value === undefined) return [];
    if (kind === "email") found.push(emailAddress(one(value.startsWith('"') ? parseJson(value) : value)));
  }
  return found;
}

/** Repeated parts are ignored, and texts that are malformed. */
function one(part: unknown): string | undefined {
  return typeof part === "string" ? part : undefined;
}
