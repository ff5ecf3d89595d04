// Login with the password of a system user (contract 5.1).
import { access, constants, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Semaphore } from "../../lib/async/semaphore.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_LOGIN_QUESTIONS,
  MAX_WAITING_SYSTEM_PASSWORDS,
  SYSTEM_PASSWORD_TIMEOUT_MS,
  SYSTEM_PASSWORDS_AT_ONCE,
  WRONG_PASSWORD_MS,
} from "../../protocol/limits.ts";
import type { LoginPrompts } from "../../protocol/schemas/login-question.ts";
import type { Accounts } from "../accounts/accounts.ts";
import { PAM_PROGRAM, PAM_SERVICE, PamCode, type PamConversation } from "../accounts/pam.ts";
import type { Users } from "../users.ts";
import { evenRefusal } from "./even-refusal.ts";
import type { PasswordAttempt, PasswordCheck } from "./password-login.ts";

const BLANK = "the account has no password, so that PAM would accept any";
/** PAM's limit, in UTF-8. */
const MAX_ANSWER_BYTES = 512;
/** Wrong password, or no such user. */
const WRONG: ReadonlySet<number> = new Set([PamCode.wrongPassword, PamCode.unknownUser]);
/** The password may be correct, but the account may not be used now. */
const NOT_NOW: ReadonlySet<number> = new Set([
  ...[PamCode.permissionDenied, PamCode.tooManyTries, PamCode.passwordExpired, PamCode.accountExpired],
]);

export type SystemPasswordParts = {
  readonly accounts: Pick<Accounts, "lookUp" | "hasBlankPassword" | "openPam">;
  readonly users: Pick<Users, "mayLogIn">;
  readonly log: Pick<Log, "warn">;
  /** For tests. */
  readonly refusalMs?: number;
};

/**
 * Asks PAM for at most SYSTEM_PASSWORDS_AT_ONCE logins at a time, not counting those that wait for a person. With
 * more than MAX_WAITING_SYSTEM_PASSWORDS waiting: ServiceError `rate_limited`. PAM is only asked
 * about users whom the options admit: other accounts can neither be locked nor guessed through this server.
 */
export function systemPassword(parts: SystemPasswordParts): PasswordCheck {
  const semaphore = new Semaphore({
    permits: SYSTEM_PASSWORDS_AT_ONCE,
    maxWaiting: MAX_WAITING_SYSTEM_PASSWORDS,
    maxWaitMs: SYSTEM_PASSWORD_TIMEOUT_MS,
    full: tooMany,
  });
  const even = evenRefusal({
    stepMs: parts.refusalMs ?? WRONG_PASSWORD_MS,
    now: () => performance.now(),
    pause,
  });
  return async (attempt, ask) => {
    using scope = new DisposableStack();
    let dialog: Dialog | undefined;
    let answers: readonly string[] = [];
    for (let asked = 0; ; asked++) {
      // The time that a person takes to answer does not count.
      const turn = await even(() =>
        semaphore.take(async () => {
          dialog ??= await begin(attempt, parts, scope);
          return await dialog(answers);
        }),
      );
      if ("user" in turn) return turn.user;
      if (asked === MAX_LOGIN_QUESTIONS) throw wrong();
      answers = await ask(turn);
    }
  };
}

/** Answers PAM until it asks for something else than the password, or accepts the user. */
type Dialog = (answers: readonly string[]) => Promise<LoginPrompts | { readonly user: string }>;

async function begin(
  { username, password, address }: PasswordAttempt,
  { accounts, users, log }: SystemPasswordParts,
  scope: DisposableStack,
): Promise<Dialog> {
  if (password === "" || !isTypeable(password) || !users.mayLogIn(username)) throw wrong();
  const { account, refusal } = await accounts.lookUp(username);
  if (account === undefined) throw wrong();
  const { name: user } = account;
  const pam = scope.use(accounts.openPam({ username: user, address }));
  return dialogWith(pam, password, async (code) => {
    refuseByCode(code, user, log);
    const reason = refusal ?? ((await accounts.hasBlankPassword(user)) ? BLANK : undefined);
    if (reason === undefined) return { user };
    log.warn({ user, reason }, "login refused");
    throw wrong();
  });
}

/** The password answers the first prompt without echo. */
function dialogWith(
  pam: PamConversation,
  password: string,
  accept: (code: number) => Promise<{ readonly user: string }>,
): Dialog {
  let unused: readonly string[] = [password];
  let awaited = 0;
  let complete = (given: readonly string[]): readonly string[] => given;
  const next: Dialog = async (given) => {
    if (given.length !== awaited || !given.every(isTypeable)) throw wrong();
    const step = await pam.next(complete(given));
    if (step.kind === "done") return await accept(step.code);
    const { prompts, messages } = step;
    const index = prompts.findIndex(({ echo }) => !echo);
    const known = index < 0 ? [] : unused;
    if (index >= 0) unused = [];
    const asked = prompts.toSpliced(index, known.length);
    awaited = asked.length;
    complete = (texts) => texts.toSpliced(index, 0, ...known);
    return awaited === 0 ? await next([]) : { prompts: asked, messages };
  };
  return next;
}

function refuseByCode(pamCode: number, user: string, log: SystemPasswordParts["log"]): void {
  if (pamCode === PamCode.success) return;
  if (NOT_NOW.has(pamCode)) log.warn({ user, pamCode }, "login refused by PAM");
  else if (!WRONG.has(pamCode)) log.warn({ user, pamCode }, "PAM failed");
  throw wrong();
}

/** PAM would cut texts at a NUL or at its limit. */
function isTypeable(text: string): boolean {
  if (text.includes("\0") || !text.isWellFormed()) return false;
  return new TextEncoder().encode(text).length <= MAX_ANSWER_BYTES;
}

function wrong(): ServiceError {
  return new ServiceError("invalid_credentials", "wrong user name or password");
}

function tooMany(): ServiceError {
  const details = { retryAfterSeconds: 5 };
  return new ServiceError("rate_limited", "too many users log in at once: try again in 5 s", { details });
}

const SERVICE_FOLDERS = ["/etc/pam.d", "/usr/lib/pam.d"];

export type SystemLoginOptions = {
  readonly accounts: Accounts;
  readonly users: Pick<Users, "mayLogIn">;
  readonly log: Pick<Log, "warn">;
  readonly serverUser: string;
  readonly isRoot: boolean;
  /** Whether users other than the server's may log in. */
  readonly hasOtherUsers: boolean;
  /** Whether there is another way to log in. */
  readonly hasOtherWays: boolean;
};

/** Warns of obstacles. Without PAM: `undefined` if there is another way to log in, otherwise ServiceError `start_failed`. */
export async function openSystemPassword(options: SystemLoginOptions): Promise<PasswordCheck | undefined> {
  const { accounts, users, log, hasOtherWays } = options;
  try {
    await access(PAM_PROGRAM, constants.X_OK);
  } catch (cause) {
    if (!hasOtherWays) throw new ServiceError("start_failed", `${NO_PAM}${WAYS_OUT}`, { cause });
    log.warn({ reason: NO_PAM }, "login with system passwords is off");
    return undefined;
  }
  for (const reason of await obstacles(options)) log.warn({ reason }, "system passwords may be refused");
  return systemPassword({ accounts, users, log });
}

const NO_PAM =
  "login with a system password needs the program ttyhq-pam, which is not installed: " +
  "npm builds it where PAM's headers are; on Debian install libpam0g-dev, g++, make and python3, then run `npm ci` again";

const WAYS_OUT =
  "; or use another login: SERVICE_USERNAME and SERVICE_PASSWORD (one password for all), --enable-ssh-keys, --login-link, or --no-auth where nobody else can reach the server";

async function obstacles({ serverUser, isRoot, hasOtherUsers }: SystemLoginOptions): Promise<string[]> {
  const found: string[] = [];
  if (!(await hasService())) {
    const example = `packaging/pam.d/${process.platform === "darwin" ? "macos/" : ""}${PAM_SERVICE}`;
    found.push(`there is no /etc/pam.d/${PAM_SERVICE}, so PAM uses /etc/pam.d/other: copy ${example} there`);
  }
  if (!isRoot && hasOtherUsers) {
    found.push(`the server is not root, so PAM checks only the password of ${serverUser} for it`);
  }
  if (!isRoot && (await hasNoNewPrivileges())) {
    found.push("no-new-privileges stops PAM's program unix_chkpwd from reading passwords");
  }
  return found;
}

async function hasService(): Promise<boolean> {
  const checks = SERVICE_FOLDERS.map((folder) => succeeded(access(`${folder}/${PAM_SERVICE}`)));
  return (await Promise.all(checks)).includes(true);
}

async function hasNoNewPrivileges(): Promise<boolean> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  return /^NoNewPrivs:\s*1$/m.test(status);
}
