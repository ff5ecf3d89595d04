import { ServiceError } from "../../protocol/errors.ts";
import { MAX_TOKEN_LENGTH } from "../../protocol/limits.ts";

const SCHEME = /^([A-Za-z][A-Za-z0-9-]{0,31})(?: +|$)/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * What an `Authorization` header says after its scheme; `undefined` for no header and for another scheme, which is
 * for someone else (a proxy's own login, say). Not looked at any further.
 */
export function proofOf(scheme: "bearer" | "basic", header: string | undefined): string | undefined {
  const [start, found] = SCHEME.exec(header ?? "") ?? [];
  if (header === undefined || start === undefined || found?.toLowerCase() !== scheme) return undefined;
  return header.slice(start.length);
}

/**
 * The token of an `Authorization: Bearer` header; `undefined` where there is no such header. One without a token in
 * it, or with one longer than any of ours: ServiceError `unauthorized`.
 */
export function bearerToken(header: string | undefined): string | undefined {
  const token = proofOf("bearer", header);
  if (token !== undefined && (token.length > MAX_TOKEN_LENGTH || !TOKEN.test(token))) throw malformed();
  return token;
}

export function malformed(): ServiceError {
  return new ServiceError("unauthorized", "malformed Authorization header");
}
