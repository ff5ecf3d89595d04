// System users, from the name service: /etc/passwd, a directory, or whatever is configured.
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

/** Linux's limit, in UTF-16 units. */
const MAX_NAME_LENGTH = 256;
const MAX_ID = 0xff_ff_ff_fe;
const MS_PER_DAY = 86_400_000;
/** `getent`: not found. */
const NOT_FOUND = 2;
/** If /etc/shells is missing, see getusershell(3). */
const DEFAULT_SHELLS = ["/bin/sh", "/bin/bash"];
/** Shells that limit their users to certain programs; a session would lift that limit. */
const RESTRICTED_SHELLS: ReadonlySet<string> = new Set([
  ...["nologin", "false", "git-shell", "rbash", "rksh", "rzsh"],
]);

/** Only a user of exactly that name, not by number or in other case. ServiceError `internal_error` if the lookup fails. */
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

/** Whether the text can be a user name: no option, no second field or line, no invisible characters. */
export function isAccountName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && /^[^-\s:/\p{C}]([^:/\p{C}]*[^\s:/\p{C}])?$/u.test(text);
}

/** A line of passwd(5); `undefined` for anything else. */
export function parsePasswdLine(line: string): SystemAccount | undefined {
  const [name = "", , uidText = "", gidText = "", , home = "", shell, ...rest] = line.split(":");
  const [uid, gid] = [parseId(uidText), parseId(gidText)];
  if (uid === undefined || gid === undefined || shell === undefined || rest.length > 0) return undefined;
  if (!isAccountName(name) || line.includes("\0")) return undefined;
  return { name, uid, gid, home: home.startsWith("/") ? home : "/", shell: shell === "" ? "/bin/sh" : shell };
}

/** Why an account may not log in: it has expired (which only root can see), or its shell is not a login shell. */
export async function loginRefusal(account: SystemAccount): Promise<string | undefined> {
  if (!(await loginShells()).has(account.shell) || RESTRICTED_SHELLS.has(basename(account.shell))) {
    return `the shell ${account.shell} is not one to log in with: see /etc/shells`;
  }
  const { code, stdout } = await getent("shadow", account.name);
  const isExpired = code === 0 && isExpiredShadow(stdout.split("\n", 1)[0] ?? "", Date.now());
  return isExpired ? "the account has expired" : undefined;
}

/** Whether a line of shadow(5) says that the account has expired; `now` in milliseconds since 1970. */
export function isExpiredShadow(line: string, now: number): boolean {
  const expires = line.split(":")[7];
  return (
    expires !== undefined && /^\d{1,9}$/.test(expires) && Math.floor(now / MS_PER_DAY) >= Number(expires)
  );
}

/** The names of a user's groups; empty for an unknown user. */
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
