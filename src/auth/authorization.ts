import { ServiceError } from "../protocol/errors.ts";
import { MAX_TOKEN_LENGTH } from "../protocol/limits.ts";

const SCHEME = /^([A-Za-z][A-Za-z0-9-]{0,31})(?: +|$)/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * The token of an `Authorization: Bearer` header; `undefined` for no header and for another scheme, which is for
 * someone else (a proxy's Basic login, say). A Bearer header without a token in it, or with one longer than any of
 * ours: ServiceError `unauthorized`.
 */
export function bearerToken(header: string | undefined): string | undefined {
  const [start, scheme] = SCHEME.exec(header ?? "") ?? [];
  if (header === undefined || start === undefined || scheme?.toLowerCase() !== "bearer") return undefined;
  const token = header.slice(start.length);
  if (token.length > MAX_TOKEN_LENGTH || !TOKEN.test(token)) {
    throw new ServiceError("unauthorized", "malformed Authorization header");
  }
  return token;
}
