import { TLSSocket } from "node:tls";
import { emailAddress, type ProxyUser, plainName, proxyUser } from "./proxy-user.ts";

/** Who a client certificate names, and until when it does. */
export type CertifiedUser = { readonly user: ProxyUser; readonly expiresAtMs: number };

/** What of a certificate is looked at, as node:tls spells it. */
export type ClientCertificate = {
  readonly subjectaltname?: string | undefined;
  readonly subject?: Readonly<Record<string, unknown>> | undefined;
  readonly valid_to?: string | undefined;
};

/** One alternative name: its kind, and its value, as JSON where it has a character that could be taken for a separator. */
const ALTERNATIVE = /\s*([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:,|$)/y;

const known = new WeakMap<TLSSocket, CertifiedUser | "nobody">();

/**
 * Who is at the other end, by the client certificate of the handshake, checked against the given authorities by TLS; the
 * date is looked at again with every request, because a connection, or a session that is resumed, may outlive it. There
 * are no revocation lists: an authority is to issue certificates that do not live long. `undefined`: no certificate, or
 * none that counts.
 */
export function certifiedUser(socket: unknown, nowMs: number): CertifiedUser | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const found = known.get(socket) ?? userOfCertificate(socket.getPeerCertificate()) ?? "nobody";
  known.set(socket, found);
  return found !== "nobody" && nowMs < found.expiresAtMs ? found : undefined;
}

/** The login is the e-mail address among the alternative names, else that of the subject, else its common name. */
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

/** What cannot be read whole says nothing: part of a name must not be taken for another one. */
function emailsOf(alternatives: string | undefined): readonly (string | undefined)[] {
  const found: (string | undefined)[] = [];
  const text = alternatives ?? "";
  ALTERNATIVE.lastIndex = 0;
  while (ALTERNATIVE.lastIndex < text.length) {
    const [, kind, value] = ALTERNATIVE.exec(text) ?? [];
    if (kind === undefined || value === undefined) return [];
    if (kind === "email") found.push(emailAddress(value.startsWith('"') ? unquoted(value) : value));
  }
  return found;
}

function unquoted(value: string): string | undefined {
  try {
    const text: unknown = JSON.parse(value);
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** A part that is there several times names nobody. */
function one(part: unknown): string | undefined {
  return typeof part === "string" ? part : undefined;
}
