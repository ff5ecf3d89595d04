import { randomBytes } from "node:crypto";
import { chmod, readFile, stat } from "node:fs/promises";
import { createFileOnce, unlessMissing } from "../lib/fs/atomic-file.ts";
import { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MIN_TOKEN_SECRET_BYTES } from "../protocol/limits.ts";

const OWNER_ONLY = 0o600;
const MADE_BYTES = 64;

/** For tokens that end with this process. */
export function passingTokenSecret(): Secret {
  return new Secret(randomBytes(MADE_BYTES));
}

/**
 * Signs access tokens if no option gives a secret: generated once and kept in `path` with mode 0600, so that tokens
 * survive a restart (contract 5.5). Servers that start at the same time get the same one.
 */
export async function keptTokenSecret(path: string, log: Pick<Log, "warn">): Promise<Secret> {
  const kept =
    (await readFile(path).catch(unlessMissing)) ??
    (await createFileOnce(path, randomBytes(MADE_BYTES), OWNER_ONLY));
  await closeToOthers(path, log);
  if (kept.length < MIN_TOKEN_SECRET_BYTES) {
    throw new ServiceError("internal_error", `${path} is damaged: remove it to have a new one made`);
  }
  return new Secret(kept);
}

/** Some volumes are mounted with group permissions: corrected rather than refused. */
async function closeToOthers(path: string, log: Pick<Log, "warn">): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return;
  await chmod(path, OWNER_ONLY);
  log.warn({ path, mode: (mode & 0o777).toString(8) }, "token secret was open to others, now closed");
}
