// Cookies of the proxy. With this prefix browsers accept them only from this host over TLS (RFC 6265bis, 4.1.3.2).
export const LOGIN_COOKIE = "__Host-ttyhq-login";
/** Followed by the start of the `state` of a pending login. */
export const PENDING_COOKIE = "__Host-ttyhq-begun-";

const OURS = "__Host-ttyhq-";

/** The first cookie of each name counts; malformed ones are skipped. Never throws. */
export function cookiesOf(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const piece of piecesOf(header)) {
    const equals = piece.indexOf("=");
    const name = piece.slice(0, equals).trim();
    if (equals > 0 && name !== "" && !cookies.has(name)) cookies.set(name, piece.slice(equals + 1).trim());
  }
  return cookies;
}

/** The value of Set-Cookie. `maxAgeMs` 0 deletes the cookie. */
export function cookie(name: string, value: string, maxAgeMs: number): string {
  const maxAgeS = Math.floor(maxAgeMs / 1000);
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}; Secure; HttpOnly; SameSite=Lax`;
}

/** The header without the proxy's cookies; `undefined` if nothing is left. */
export function foreignCookies(header: string | undefined): string | undefined {
  const foreign = piecesOf(header).filter((piece) => piece.trim() !== "" && !piece.trim().startsWith(OURS));
  return foreign.length === 0 ? undefined : foreign.map((piece) => piece.trim()).join("; ");
}

function piecesOf(header: string | undefined): readonly string[] {
  return header === undefined ? [] : header.split(";");
}
