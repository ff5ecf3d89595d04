// What login with system passwords needs of the machine, and what is said where it is not there.
import { access, readFile } from "node:fs/promises";
import { findSystemAccount, loginRefusal, type SystemAccount } from "../lib/system-account.ts";
import { runSystemCommand } from "../lib/system-command.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { SYSTEM_LOOKUP_TIMEOUT_MS } from "../protocol/limits.ts";
import { loadPam, PAM_SERVICE } from "./pam.ts";
import { PamProcess } from "./pam-process.ts";
import type { PasswordCheck } from "./password-login.ts";
import { systemPassword } from "./system-password.ts";
import type { Users } from "./users.ts";

const SERVICE_FOLDERS = ["/etc/pam.d", "/usr/lib/pam.d"];

export type SystemLoginOptions = {
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
  const { users, log, hasOtherWays } = options;
  try {
    loadPam();
  } catch (cause) {
    const message = missingPam(cause);
    if (!hasOtherWays) throw new ServiceError("start_failed", `${message}${WAYS_OUT}`, { cause });
    log.warn({ reason: message }, "system passwords log nobody in");
    return undefined;
  }
  for (const reason of await hindrances(options)) log.warn({ reason }, "system passwords may be refused");
  const { ask } = new PamProcess();
  return systemPassword({ ask, find: findSystemAccount, refusal, users, log });
}

/** What speaks against an account whose password is right. */
async function refusal(account: SystemAccount): Promise<string | undefined> {
  if (await needsNoPassword(account.name)) return "the account has no password, so that any would do";
  return await loginRefusal(account);
}

/** PAM lets whoever has no password in with any, where its modules are told so (`nullok`, as Debian does). */
async function needsNoPassword(name: string): Promise<boolean> {
  const { code, stdout } = await runSystemCommand("passwd", ["-S", "--", name], {
    timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS,
  });
  return code === 0 && stdout.slice(name.length).startsWith(" NP");
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
