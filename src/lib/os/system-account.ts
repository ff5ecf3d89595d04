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
/** If /etc/shells is missing, see getusershell(3). */
const DEFAULT_SHELLS = ["/bin/sh", "/bin/bash"];
/** Shells that limit their users to certain programs; a session would lift that limit. */
const RESTRICTED_SHELLS: ReadonlySet<string> = new Set([
  ...["nologin", "false", "git-shell", "rbash", "rksh", "rzsh"],
]);

/** How a system tells of its users: a command, its exit code for a name that nobody has, and its answer. */
type UserLookup = {
  readonly command: readonly [file: string, ...args: string[]];
  readonly notFound: number;
  readonly parse: (line: string) => SystemAccount | undefined;
};

const GETENT: UserLookup = { command: ["getent", "passwd"], notFound: 2, parse: parsePasswdLine };
/** macOS has no getent, and its /etc/passwd lists no people. */
const ID: UserLookup = { command: ["id", "-P"], notFound: 1, parse: parseMasterPasswdLine };

/**
 * The user of exactly that name: the system also finds users by number or in other case, which do not count.
 * ServiceError `internal_error` if the lookup fails.
 */
export async function findSystemAccount(name: string): Promise<SystemAccount | undefined> {
  if (!isAccountName(name)) return undefined;
  const { command, notFound, parse } = process.platform === "darwin" ? ID : GETENT;
  const { code, stdout } = await ask([...command, "--", name]);
  if (code === notFound) return undefined;
  const account = parse(stdout.split("\n", 1)[0] ?? "");
  if (code !== 0 || account === undefined) {
    const message = `the users of this system cannot be looked up: see \`${command.join(" ")}\``;
    throw new ServiceError("internal_error", message);
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

/** A line of master.passwd(5), which `id -P` of BSD and macOS writes: with class, change and expiry of the account. */
export function parseMasterPasswdLine(line: string): SystemAccount | undefined {
  const fields = line.split(":");
  return fields.length === 10 ? parsePasswdLine(fields.toSpliced(4, 3).join(":")) : undefined;
}

/** Why an account may not log in: it has expired (which only root can see), or its shell is not a login shell. */
export async function loginRefusal(account: SystemAccount): Promise<string | undefined> {
  if (!(await loginShells()).has(account.shell) || RESTRICTED_SHELLS.has(basename(account.shell))) {
    return `the shell ${account.shell} is not one to log in with: see /etc/shells`;
  }
  if (process.platform === "darwin") return undefined;
  const { code, stdout } = await ask(["getent", "shadow", "--", account.name]);
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

/** The names of a user's groups; empty for an unknown user. `platform`: another one than this, for tests. */
export async function findSystemGroups(
  name: string,
  platform = process.platform,
): Promise<readonly string[]> {
  if (!isAccountName(name)) return [];
  // macOS's id does not end names with a NUL.
  if (platform === "darwin") return await groupsWithoutSpaces(name);
  const { code, stdout } = await ask(["id", "-Gnz", "--", name]);
  return code === 0 ? stdout.split("\0").filter((group) => group !== "") : [];
}

/** ServiceError `internal_error` if the name of a group has a space, so that it looks like two groups. */
async function groupsWithoutSpaces(name: string): Promise<readonly string[]> {
  const [names, ids] = await Promise.all([ask(["id", "-Gn", "--", name]), ask(["id", "-G", "--", name])]);
  if (names.code !== 0 || ids.code !== 0) return [];
  const [groups, numbers] = [names.stdout.trim().split(" "), ids.stdout.trim().split(" ")];
  if (groups.length === numbers.length) return groups;
  const message = `the groups of ${name} cannot be told apart: the name of one has a space`;
  throw new ServiceError("internal_error", message);
}

/** The numbers of a user's groups; empty for an unknown user. */
export async function findGroupIds(name: string): Promise<readonly number[]> {
  const { code, stdout } = await ask(["id", "-G", "--", name]);
  return code === 0 ? stdout.trim().split(" ").map(Number) : [];
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

async function ask([file, ...args]: readonly [file: string, ...args: string[]]): Promise<Finished> {
  return await runSystemCommand(file, args, { timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS });
}
