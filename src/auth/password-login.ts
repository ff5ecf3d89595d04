import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../lib/secret.ts";
import { ServiceError } from "../protocol/errors.ts";

export type PasswordAttempt = { readonly username: string; readonly password: string };

/** Returns the user that a password proved. Wrong password or unknown user: ServiceError `invalid_credentials`. */
export type PasswordCheck = (attempt: PasswordAttempt) => Promise<string>;

/**
 * Accepts one pair, SERVICE_USERNAME and SERVICE_PASSWORD. Takes the same time whatever is wrong, user or password,
 * and however much of it is right: both are always compared, as hashes of equal length.
 */
export function configuredPassword(pair: {
  readonly username: string;
  readonly password: Secret;
}): PasswordCheck {
  const key = randomBytes(32);
  const digest = (value: string | Uint8Array): Buffer => createHmac("sha256", key).update(value).digest();
  const username = digest(pair.username);
  const password = digest(pair.password.bytes());
  return async (attempt) => {
    const isUser = timingSafeEqual(digest(attempt.username), username);
    const isPassword = timingSafeEqual(digest(attempt.password), password);
    if (!isUser || !isPassword) throw new ServiceError("invalid_credentials", "wrong user name or password");
    return pair.username;
  };
}
