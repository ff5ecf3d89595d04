// Users of the system as its name service knows them: /etc/passwd, a directory, whatever it is set up with.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";
import { SYSTEM_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import { type Finished, runSystemCommand } from "./system-command.ts";

export type SystemAccount = {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
};

/** As long as Linux lets a name be, in UTF-16 units. */
const MAX_NAME_LENGTH = 256;
const MAX_ID = 0xff_ff_ff_fe;
const MS_PER_DAY = 86_400_000;
/** `getent`: no such key. */
const NOT_FOUND = 2;
/** Where /etc/shells is missing, see getusershell(3). */
const DEFAULT_SHELLS = ["/bin/sh", "/bin/bash"];
/** Shells that are there to keep their users from programs of their own choice, which is what a session gives. */
const RESTRICTED_SHELLS: ReadonlySet<string> = new Set([
  ...["nologin", "false", "git-shell", "rbash", "rksh", "rzsh"],
]);

/**
 * The user of exactly that name. `undefined` where there is none: a number, or other letters than the system has, is
 * nobody, though the system would find somebody under them. ServiceError `internal_error` where it cannot be asked.
 */
export async function findSystemAccount(name: string): Promise<SystemAccount | undefined> {
  if (!isAccountName(name)) return undefined;
  const { code, stdout } = await getent("passwd", name);
  if (code === NOT_FOUND) return undefined;
  const account = parsePasswdLine(stdout.split("\n", 1)[0] ?? "");
  if (code !== 0 || account === undefined) {
    throw new ServiceError(
      "internal_error",
      "the users of this system cannot be looked up: see `getent passwd`",
    );
  }
  return account.name === name ? account : undefined;
}

/** Whether a text may be asked for as a user's name: no option, no second field or line, nothing invisible. */
export function isAccountName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && /^[^-\s:/\p{C}]([^:/\p{C}]*[^\s:/\p{C}])?$/u.test(text);
}

/** Reads a line of passwd(5). `undefined` for everything else. */
export function parsePasswdLine(line: string): SystemAccount | undefined {
  const [name = "", , uidText = "", gidText = "", , home = "", shell, ...rest] = line.split(":");
  const [uid, gid] = [parseId(uidText), parseId(gidText)];
  if (uid === undefined || gid === undefined || shell === undefined || rest.length > 0) return undefined;
  if (!isAccountName(name) || line.includes("\0")) return undefined;
  return { name, uid, gid, home: home.startsWith("/") ? home : "/", shell: shell === "" ? "/bin/sh" : shell };
}

/**
 * Why a user may not log in, by whatever proof: the account has expired, or its shell is none to log in with.
 * `undefined`: nothing is known against it; that an account has expired only root can know.
 */
export async function loginRefusal(account: SystemAccount): Promise<string | undefined> {
  if (!(await loginShells()).has(account.shell) || RESTRICTED_SHELLS.has(basename(account.shell))) {
    return `the shell ${account.shell} is not one to log in with: see /etc/shells`;
  }
  const { code, stdout } = await getent("shadow", account.name);
  const isExpired = code === 0 && isExpiredShadow(stdout.split("\n", 1)[0] ?? "", Date.now());
  return isExpired ? "the account has expired" : undefined;
}

/** Whether a line of shadow(5) says that the account is over; `now` in milliseconds since 1970. */
export function isExpiredShadow(line: string, now: number): boolean {
  const expires = line.split(":")[7];
  return (
    expires !== undefined && /^\d{1,9}$/.test(expires) && Math.floor(now / MS_PER_DAY) >= Number(expires)
  );
}

/** The names of all groups that a user is a member of; none where there is no such user. */
export async function findSystemGroups(name: string): Promise<readonly string[]> {
  if (!isAccountName(name)) return [];
  const { code, stdout } = await runSystemCommand("id", ["-Gnz", "--", name], {
    timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS,
  });
  return code === 0 ? stdout.split("\0").filter((group) => group !== "") : [];
}

function parseId(text: string): number | undefined {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : MAX_ID + 1;
  return id <= MAX_ID ? id : undefined;
}

async function loginShells(): Promise<ReadonlySet<string>> {
  const text = await readFile("/etc/shells", "utf8").catch(() => DEFAULT_SHELLS.join("\n"));
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim());
  return new Set(lines.filter((line) => line.startsWith("/")));
}

async function getent(database: "passwd" | "shadow", name: string): Promise<Finished> {
  return await runSystemCommand("getent", [database, "--", name], { timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS });
}
