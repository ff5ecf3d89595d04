import { isOwnVariable } from "../lib/os/own-variables.ts";

/** The terminal that somebody sits at: the session has one of its own and outlives this one. */
const OF_THE_TERMINAL = new Set([
  "TERM",
  "TERMCAP",
  "TERMINFO",
  "TERM_PROGRAM",
  "TERM_PROGRAM_VERSION",
  "TERM_SESSION_ID",
  "COLORTERM",
  "COLUMNS",
  "LINES",
  "TMUX",
  "TMUX_PANE",
  "STY",
  "WINDOW",
  "WINDOWID",
  "VTE_VERSION",
  "KITTY_WINDOW_ID",
  "SSH_TTY",
  "SHLVL",
  "_",
]);
/** A command of ours that is typed in the session is to find the same server. */
const TO_FIND_US = new Set(["TTYHQ_CONTROL_DIR", "TTYHQ_URL", "TTYHQ_DETACH_KEYS"]);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What of the caller's environment goes with a program into its session: all but the terminal and our own secrets. */
export function sessionEnv(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !NAME.test(name) || OF_THE_TERMINAL.has(name)) continue;
    if (!isOwnVariable(name) || TO_FIND_US.has(name)) kept[name] = value;
  }
  return kept;
}
