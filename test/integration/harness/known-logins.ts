// Logins that a server finds in its control directory at its start: tokens for users whose passwords the tests do not
// have.
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TOKEN_SECRET } from "./password-server.ts";

const INSTANCE = "5b0d9c1e-8f0a-4c59-9d53-0d5a3c6f2b11";
const LIFETIME_S = 86_400;
/** The number of tokens per user: more than a test needs, since it may log one out. */
const COUNT = 200;

/** Stores them with the secret TOKEN_SECRET, before the server starts. */
export async function keepLogins(controlDir: string, users: readonly string[]): Promise<void> {
  const expiresAtS = Math.floor(Date.now() / 1000) + LIFETIME_S;
  const value = { method: "password", createdAt: new Date().toISOString() };
  const records = users.flatMap((user) =>
    Array.from({ length: COUNT }, (_, index) => {
      return { id: idOf(user, index), kind: "login", expiresAtS, value: { user, ...value } };
    }),
  );
  const text = JSON.stringify({ version: 1, instance: INSTANCE, records });
  await writeFile(join(controlDir, "logins.json"), text, { mode: 0o600 });
}

const issued = new Map<string, number>();

/** A different token of these logins at each call, with modified claims. */
export function knownToken(user: string, claims: object = {}): string {
  const index = issued.get(user) ?? 0;
  issued.set(user, index + 1);
  const iat = Math.floor(Date.now() / 1000);
  const times = { iat, exp: iat + LIFETIME_S };
  const own = { sub: user, jti: idOf(user, index % COUNT), iss: "ttyhq", aud: INSTANCE };
  const signed = [
    { alg: "HS256", typ: "JWT" },
    { ...own, ...times, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${signed}.${createHmac("sha256", TOKEN_SECRET).update(signed).digest("base64url")}`;
}

function idOf(user: string, index: number): string {
  return `known-${user}-${index}`;
}
