// Login with the password of a user of this system (contract 5.1).
import { access, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Slots } from "../../lib/slots.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_WAITING_SYSTEM_PASSWORDS,
  SLOW_REFUSAL_MEMORY_MS,
  SYSTEM_PASSWORD_TIMEOUT_MS,
  SYSTEM_PASSWORDS_AT_ONCE,
  WRONG_PASSWORD_MS,
} from "../../protocol/limits.ts";
import { EvenRefusal } from "../even-refusal.ts";
import type { PasswordAttempt, PasswordCheck } from "../password-login.ts";
import type { Users } from "../users.ts";
import type { Accounts } from "./accounts.ts";
import { loadPam, PAM_SERVICE, PamCode } from "./pam.ts";

const BLANK = "the account has no password, so that any would do";
/** PAM takes no longer ones, in UTF-8. */
const MAX_PASSWORD_BYTES = 512;
/** PAM's ways of saying that this is not the user's password, or that there is no such user. */
const WRONG: ReadonlySet<number> = new Set([PamCode.wrongPassword, PamCode.unknownUser]);
/** The password may be right, but the account is not to be used, or not now. */
const NOT_NOW: ReadonlySet<number> = new Set([
  ...[PamCode.permissionDenied, PamCode.tooManyTries, PamCode.passwordExpired, PamCode.accountExpired],
]);

export type SystemPasswordParts = {
  readonly accounts: Pick<Accounts, "lookUp" | "hasBlankPassword" | "checkPassword">;
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
    memoryMs: SLOW_REFUSAL_MEMORY_MS,
    now: () => performance.now(),
    pause,
  });
  return (attempt) => even.level(() => turns.take(() => prove(attempt, parts)));
}

async function prove(attempt: PasswordAttempt, parts: SystemPasswordParts): Promise<string> {
  const { username, password, address } = attempt;
  const { accounts, users, log } = parts;
  if (!mayBeRight(attempt) || !users.mayLogIn(username)) throw wrong();
  const { account, refusal } = await accounts.lookUp(username);
  if (account === undefined) throw wrong();
  const user = account.name;
  refuseByCode(await accounts.checkPassword({ username: user, password, address }), user, log);
  const reason = refusal ?? ((await accounts.hasBlankPassword(account)) ? BLANK : undefined);
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

const SERVICE_FOLDERS = ["/etc/pam.d", "/usr/lib/pam.d"];

export type SystemLoginOptions = {
  readonly accounts: Accounts;
  readonly users: Pick<Users, "mayLogIn">;
  readonly log: Pick<Log, "warn">;
  readonly serverUser: string;
  readonly isRoot: boolean;
  /** Whether others than the server's user may log in. */
  readonly hasOtherUsers: boolean;
  /** Whether one can log in without a password, too. */
  readonly hasOtherWays: boolean;
};

/**
 * `undefined` where PAM cannot be asked but there are other ways to log in; where there are none ServiceError
 * `start_failed`. Warns of what keeps passwords from being checked.
 */
export async function openSystemPassword(options: SystemLoginOptions): Promise<PasswordCheck | undefined> {
  const { accounts, users, log, hasOtherWays } = options;
  try {
    loadPam();
  } catch (cause) {
    const message = missingPam(cause);
    if (!hasOtherWays) throw new ServiceError("start_failed", `${message}${WAYS_OUT}`, { cause });
    log.warn({ reason: message }, "system passwords log nobody in");
    return undefined;
  }
  for (const reason of await hindrances(options)) log.warn({ reason }, "system passwords may be refused");
  return systemPassword({ accounts, users, log });
}

const WAYS_OUT =
  "; or let people log in otherwise: SERVICE_USERNAME and SERVICE_PASSWORD (one password for all), --enable-ssh-keys, --login-link, or --no-auth where nobody else can reach the server";

function missingPam(cause: unknown): string {
  const isMissing = cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND";
  const reason = cause instanceof Error ? cause.message.split("\n", 1)[0] : String(cause);
  const problem = isMissing ? "is not installed" : `cannot be loaded (${reason})`;
  return (
    `to log in with the password of a user of this system takes PAM, and the package node-linux-pam ${problem}: ` +
    "npm leaves it out where it cannot be built; on Debian install libpam0g-dev, g++, make and python3, then run `npm ci` again"
  );
}

async function hindrances({ serverUser, isRoot, hasOtherUsers }: SystemLoginOptions): Promise<string[]> {
  const found: string[] = [];
  if (!(await hasService())) {
    found.push(
      `there is no /etc/pam.d/${PAM_SERVICE}, so PAM goes by /etc/pam.d/other: copy packaging/pam.d/${PAM_SERVICE} there to say what counts`,
    );
  }
  if (!isRoot && hasOtherUsers) {
    found.push(`the server is not root, and so the system lets it check the password of ${serverUser} alone`);
  }
  if (!isRoot && (await hasNoNewPrivileges())) {
    found.push("no-new-privileges keeps PAM's own program unix_chkpwd from reading any password");
  }
  return found;
}

async function hasService(): Promise<boolean> {
  const looks = SERVICE_FOLDERS.map((folder) => access(`${folder}/${PAM_SERVICE}`));
  return (await Promise.allSettled(looks)).some(({ status }) => status === "fulfilled");
}

async function hasNoNewPrivileges(): Promise<boolean> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  return /^NoNewPrivs:\s*1$/m.test(status);
}
