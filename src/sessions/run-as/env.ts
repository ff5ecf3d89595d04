// The environment of a program that runs as another user than the session host: what that user would find at a login.
import { readFile, stat } from "node:fs/promises";
import type { SystemAccount } from "../../lib/os/system-account.ts";
import type { BaseEnv } from "./launch-env.ts";

/** Larger files are not read. */
const MAX_FILE_BYTES = 64 * 1024;
/** Variables of the session host for all programs: language and time zone. */
const OF_THE_MACHINE = /^(LANG|LANGUAGE|LC_[A-Z]+|TZ)$/;
/** A file for all users cannot set these. */
const OF_THE_USER = /^(HOME|SHELL|USER|LOGNAME|MAIL)$/;

const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
const DEFAULT_ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const DEFAULT_UMASK = "022";

/** The settings of login.defs(5) in use. */
export type LoginDefaults = { readonly path: string; readonly rootPath: string; readonly umask: string };

/** As `login` makes it: the PATH of login.defs(5), then what pam_env(8) reads. */
export async function accountEnv(
  { uid }: SystemAccount,
  hostEnv: BaseEnv,
): Promise<{ readonly env: BaseEnv; readonly umask: string }> {
  const [defaults, environment, locale] = await Promise.all([
    readSmall("/etc/login.defs"),
    readSmall("/etc/environment"),
    readSmall("/etc/default/locale"),
  ]);
  const { path, rootPath, umask } = parseLoginDefaults(defaults);
  const ofMachine = Object.entries(hostEnv).filter(([name]) => OF_THE_MACHINE.test(name));
  const ofFiles = [...parseEnvironmentFile(environment), ...parseEnvironmentFile(locale)].filter(
    ([name]) => !OF_THE_USER.test(name),
  );
  const env = Object.fromEntries([["PATH", uid === 0 ? rootPath : path], ...ofMachine, ...ofFiles]);
  return { env, umask };
}

/** Parses login.defs(5): the last line of a name counts; invalid values have their default. */
export function parseLoginDefaults(text: string): LoginDefaults {
  const values = new Map(
    text.split("\n").flatMap((line) => {
      const [, name, value] = /^\s*(ENV_PATH|ENV_SUPATH|UMASK)\s+"?([^\s"]+)/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
  const pathOf = (name: string): string | undefined => values.get(name)?.replace(/^PATH=/, "") || undefined;
  const umask = values.get("UMASK") ?? "";
  return {
    path: pathOf("ENV_PATH") ?? DEFAULT_PATH,
    rootPath: pathOf("ENV_SUPATH") ?? DEFAULT_ROOT_PATH,
    umask: /^0?[0-7]{3}$/.test(umask) ? umask : DEFAULT_UMASK,
  };
}

/** Reads a file of environment(5) as pam_env does: NAME=VALUE, `export`, one pair of quotes, `#` to the end of the line. */
export function parseEnvironmentFile(text: string): [name: string, value: string][] {
  return text.split("\n").flatMap((line) => {
    const [, name, value] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=([^#]*)/.exec(line) ?? [];
    if (name === undefined || value === undefined || value.includes("\0")) return [];
    return [[name, value.trim().replace(/^(["'])(.*)\1$/, "$2")]];
  });
}

async function readSmall(path: string): Promise<string> {
  try {
    return (await stat(path)).size <= MAX_FILE_BYTES ? await readFile(path, "utf8") : "";
  } catch {
    return "";
  }
}
