// Makes values safe for the log: no secrets, no terminal control characters, bounded.

const REDACTED = "[redacted]";
/** At most this many members, including nested ones. */
const MAX_FIELDS = 500;
const MAX_DEPTH = 6;
/** UTF-16 units; longer strings are cut. */
const MAX_TEXT = 4_096;

/** Matches the end of a member's name, ignoring case, `-` and `_`: `accessToken`, not `tokenId`. */
const SECRET_NAME =
  /(?:authorization|cookie|password|passwd|passphrase|secret|token|ticket|jwt|credentials?|apikey|privatekey)$/;
const SECRET_PARAMETER = /([?&#;](?:[a-z_-]*(?:token|ticket|password|secret)|login)=)[^&#;\s"'<>]+/gi;
const SCHEME_AND_PROOF = /\b(bearer|basic)\s+[A-Za-z0-9._~+/-]{4,}=*/gi;
/** Begins where its word does: from each `eyJ` of a long word, the search would be quadratic. */
const JWT = /(?<![\w-])(?=[\w-]*?\beyJ[\w-]{5})[\w-]+\.[\w-]+\.[\w-]*/g;
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@]+@/gi;

type Budget = { fields: number };

/** A copy for the log: members with secret names, and secrets in strings, are replaced. */
export function redact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactFields(Object.entries(fields), MAX_DEPTH, { fields: MAX_FIELDS });
}

/** Replaces recognisable secrets: query tokens, Bearer and Basic, JWTs, user:pass@. */
export function scrub(text: string): string {
  // Cut afterwards: without their ends, secrets are not recognised.
  const scrubbed = text
    .slice(0, 2 * MAX_TEXT)
    .replace(SECRET_PARAMETER, `$1${REDACTED}`)
    .replace(SCHEME_AND_PROOF, `$1 ${REDACTED}`)
    .replace(JWT, REDACTED)
    .replace(URL_CREDENTIALS, `$1${REDACTED}@`);
  const isWhole = text.length <= 2 * MAX_TEXT && scrubbed.length <= MAX_TEXT;
  return isWhole ? scrubbed : `${scrubbed.slice(0, MAX_TEXT)}…`;
}

function redactFields(
  entries: readonly (readonly [string, unknown])[],
  depth: number,
  budget: Budget,
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [name, value] of entries) {
    if (budget.fields-- <= 0) break;
    kept.push([
      name,
      isSecretName(name) && value !== undefined ? REDACTED : redactValue(value, depth, budget),
    ]);
  }
  // fromEntries defines members, so that `__proto__` is an ordinary one.
  return Object.fromEntries(kept);
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replaceAll(/[-_]/g, ""));
}

function redactValue(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (depth === 0) return "[deeper]";
  try {
    return redactObject(value, depth, budget);
  } catch {
    // Logging must not fail if a getter or toJSON throws.
    return "[unreadable]";
  }
}

function redactObject(value: object, depth: number, budget: Budget): unknown {
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (value instanceof Error) return redactFields(errorEntries(value), depth - 1, budget);
  if (Array.isArray(value)) {
    const items = Object.entries<unknown>(value.slice(0, MAX_FIELDS));
    return Object.values(redactFields(items, depth - 1, budget));
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return redactValue(value.toJSON(), depth - 1, budget);
  }
  return redactFields(Object.entries(value), depth - 1, budget);
}

/** `cause` and `stack` are not enumerable. */
function errorEntries(error: Error): readonly (readonly [string, unknown])[] {
  const { name, message, stack, cause } = error;
  const own = Object.entries(error).filter(([member]) => member !== "name");
  const causes = cause === undefined ? [] : [["cause", cause] as const];
  return [["type", name], ["message", message], ["stack", stack], ...own, ...causes];
}
