import type { Credentials } from "../../lib/secret.ts";
import { sameBytes } from "../../lib/secret.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Ask } from "./login-questions.ts";

export type PasswordAttempt = {
  readonly username: string;
  readonly password: string;
  /** From where, as far as that is known. */
  readonly address?: string | undefined;
};

/**
 * Returns the user that a password proved, and whatever `ask` is answered. Wrong password or unknown user: ServiceError
 * `invalid_credentials`.
 */
export type PasswordCheck = (attempt: PasswordAttempt, ask: Ask) => Promise<string>;

/** Whether a user name and a password are that pair. Takes the same time whatever is wrong: both are always compared. */
export type PairMatch = (username: string | Uint8Array, password: string | Uint8Array) => boolean;

export function pairMatch(pair: Credentials): PairMatch {
  const isUsername = sameBytes(pair.username);
  const isPassword = sameBytes(pair.password.bytes());
  return (username, password) => {
    const isUser = isUsername(username);
    return isPassword(password) && isUser;
  };
}

/** Accepts one pair, SERVICE_USERNAME and SERVICE_PASSWORD. */
export function configuredPassword(pair: Credentials): (attempt: PasswordAttempt) => Promise<string> {
  const matches = pairMatch(pair);
  return async ({ username, password }) => {
    if (!matches(username, password)) {
      throw new ServiceError("invalid_credentials", "wrong user name or password");
    }
    return pair.username;
  };
}
