import type { Credentials } from "../../lib/secret.ts";
import { sameBytes } from "../../lib/secret.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Ask } from "./login-questions.ts";

export type PasswordAttempt = {
  readonly username: string;
  readonly password: string;
  readonly address?: string | undefined;
};

/** The user whose password is correct. ServiceError `invalid_credentials`: a wrong password or an unknown user. */
export type PasswordCheck = (attempt: PasswordAttempt, ask: Ask) => Promise<string>;

/** Compares a user name and a password in constant time: always both. */
export function pairMatch(pair: Credentials) {
  const isUsername = sameBytes(pair.username);
  const isPassword = sameBytes(pair.password.bytes());
  return (username: string | Uint8Array, password: string | Uint8Array): boolean => {
    const isUser = isUsername(username);
    return isPassword(password) && isUser;
  };
}

/** Accepts only SERVICE_USERNAME and SERVICE_PASSWORD. */
export function configuredPassword(pair: Credentials): (attempt: PasswordAttempt) => Promise<string> {
  const matches = pairMatch(pair);
  return async ({ username, password }) => {
    if (matches(username, password)) return pair.username;
    throw new ServiceError("invalid_credentials", "wrong user name or password");
  };
}
