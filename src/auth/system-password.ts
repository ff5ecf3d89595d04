// Login with the password of a user of this system (contract 5.1).
import { setTimeout as pause } from "node:timers/promises";
import { Slots } from "../lib/slots.ts";
import type { SystemAccount } from "../lib/system-account.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  MAX_WAITING_SYSTEM_PASSWORDS,
  SLOW_PASSWORD_MEMORY_MS,
  SYSTEM_PASSWORD_TIMEOUT_MS,
  SYSTEM_PASSWORDS_AT_ONCE,
  WRONG_PASSWORD_MS,
} from "../protocol/limits.ts";
import { EvenRefusal } from "./even-refusal.ts";
import { type PamCheck, PamCode } from "./pam.ts";
import type { PasswordAttempt, PasswordCheck } from "./password-login.ts";
import type { Users } from "./users.ts";

/** PAM takes no longer ones, in UTF-8. */
const MAX_PASSWORD_BYTES = 512;
/** PAM's ways of saying that this is not the user's password, or that there is no such user. */
const WRONG: ReadonlySet<number> = new Set([PamCode.wrongPassword, PamCode.unknownUser]);
/** The password may be right, but the account is not to be used, or not now. */
const NOT_NOW: ReadonlySet<number> = new Set([
  ...[PamCode.permissionDenied, PamCode.tooManyTries, PamCode.passwordExpired, PamCode.accountExpired],
]);

export type SystemPasswordParts = {
  readonly ask: PamCheck;
  /** The system's user of exactly that name. */
  readonly find: (name: string) => Promise<SystemAccount | undefined>;
  /** What speaks against a user who knows the password. */
  readonly refusal: (account: SystemAccount) => Promise<string | undefined>;
  readonly users: Pick<Users, "mayLogIn">;
  readonly log: Pick<Log, "warn">;
  /** For tests, which have less time. */
  readonly refusalMs?: number;
};

/**
 * Asks PAM, at most SYSTEM_PASSWORDS_AT_ONCE questions at a time; more than MAX_WAITING_SYSTEM_PASSWORDS that wait for
 * their turn: ServiceError `rate_limited`. PAM is not asked about users who may not log in here: nobody shall lock
 * their accounts, or learn their passwords, by guessing here.
 */
export function systemPassword(parts: SystemPasswordParts): PasswordCheck {
  const turns = new Slots({
    slots: SYSTEM_PASSWORDS_AT_ONCE,
    maxWaiting: MAX_WAITING_SYSTEM_PASSWORDS,
    maxWaitMs: SYSTEM_PASSWORD_TIMEOUT_MS,
    full: tooMany,
  });
  const even = new EvenRefusal({
    stepMs: parts.refusalMs ?? WRONG_PASSWORD_MS,
    memoryMs: SLOW_PASSWORD_MEMORY_MS,
    now: () => performance.now(),
    pause,
  });
  return (attempt) => even.level(() => turns.take(() => prove(attempt, parts)));
}

async function prove(attempt: PasswordAttempt, parts: SystemPasswordParts): Promise<string> {
  const { username, password, address } = attempt;
  const { ask, find, refusal, users, log } = parts;
  const account = mayBeRight(attempt) && users.mayLogIn(username) ? await find(username) : undefined;
  if (account === undefined) throw wrong();
  const user = account.name;
  const from = address === undefined ? {} : { address };
  refuseByCode(await ask({ username: user, password, ...from }), user, log);
  const reason = await refusal(account);
  if (reason === undefined) return user;
  log.warn({ user, reason }, "login refused");
  throw wrong();
}

function refuseByCode(pamCode: number, user: string, log: SystemPasswordParts["log"]): void {
  if (pamCode === PamCode.success) return;
  if (NOT_NOW.has(pamCode)) log.warn({ user, pamCode }, "login refused by PAM");
  else if (!WRONG.has(pamCode)) log.warn({ user, pamCode }, "PAM cannot tell");
  throw wrong();
}

/** What PAM would read up to a NUL, cut, or take for another text is no password. Nor is nothing. */
function mayBeRight({ password }: PasswordAttempt): boolean {
  if (password === "" || password.includes("\0") || !password.isWellFormed()) return false;
  return new TextEncoder().encode(password).length <= MAX_PASSWORD_BYTES;
}

function wrong(): ServiceError {
  return new ServiceError("invalid_credentials", "wrong user name or password");
}

function tooMany(): ServiceError {
  return new ServiceError("rate_limited", "too many people log in at once: try again in a few seconds", {
    details: { retryAfterSeconds: 5 },
  });
}
