// The environment of a session's program: the server's own, without what is the server's alone, and what was asked for.
import { delimiter } from "node:path";
import { isOwnVariable } from "../../lib/os/own-variables.ts";

export type Account = { readonly user: string; readonly home: string; readonly shell: string };

export type BaseEnv = Readonly<Record<string, string | undefined>>;

/** Variables of init for the server, and of the shell and the terminal that the server was started from. */
const LEFT_OUT = [
  /^(NOTIFY_SOCKET|LISTEN_.*|WATCHDOG_.*|CREDENTIALS_DIRECTORY|INVOCATION_ID|JOURNAL_STREAM)$/,
  /^(_|OLDPWD|SHLVL|COLUMNS|LINES|SSH_TTY)$/,
  /^(TERM_.*|TERMCAP|WINDOW|WINDOWID|STY|TMUX|TMUX_PANE|VTE_VERSION)$/,
];
/** Variables of npm for scripts. */
const OF_NPM = /^(npm_.*|INIT_CWD|NODE|COLOR)$/;
/** Folders that npm prepends to the PATH of a script. */
const NPM_FOLDER = /\/(node_modules\/\.bin|run-script\/lib\/node-gyp-bin)$/;

const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Requested variables override the server's; TTYHQ_SESSION_ID is always set. */
export function launchEnv(
  base: BaseEnv,
  asked: Readonly<Record<string, string>>,
  { id, account }: { readonly id: string; readonly account: Account },
): Record<string, string> {
  const { user, home, shell } = account;
  const inherited = Object.entries(withoutNpm(base)).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !isLeftOut(entry[0]),
  );
  const env = {
    ...{ HOME: home, SHELL: shell, USER: user, LOGNAME: user, PATH: DEFAULT_PATH },
    ...Object.fromEntries(inherited),
    ...{ TERM: "xterm-256color", COLORTERM: "truecolor" },
    ...asked,
    TTYHQ_SESSION_ID: id,
  };
  return hasLocale(env) ? env : { ...env, LANG: "C.UTF-8" };
}

/** The server's configuration contains secrets (contract 2.1). */
function isLeftOut(name: string): boolean {
  return isOwnVariable(name) || LEFT_OUT.some((pattern) => pattern.test(name));
}

/** A server under init has no locale, and programs would print UTF-8 as question marks. */
function hasLocale(env: BaseEnv): boolean {
  return [env.LC_ALL, env.LC_CTYPE, env.LANG].some((value) => value !== undefined && value !== "");
}

/** Undoes the changes of `npm start`: the project's Node would be first in every PATH. */
function withoutNpm(base: BaseEnv): BaseEnv {
  if (base.npm_lifecycle_event === undefined) return base;
  const kept = Object.fromEntries(Object.entries(base).filter(([name]) => !OF_NPM.test(name)));
  if (base.PATH === undefined) return kept;
  const folders = base.PATH.split(delimiter);
  const first = folders.findIndex((folder) => !NPM_FOLDER.test(folder));
  return { ...kept, PATH: first === -1 ? undefined : folders.slice(first).join(delimiter) };
}
