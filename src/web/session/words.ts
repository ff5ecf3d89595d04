// The page's text about a session: pure functions from a record to a sentence.
import type { ExitReason, SessionRecord } from "../../protocol/schemas/session.ts";

/** How a session ended, if known. */
export type Ending = {
  readonly exitCode?: number | undefined;
  readonly exitSignal?: string | undefined;
  readonly exitReason?: ExitReason | undefined;
  /** A user ended the session. */
  readonly endRequested?: boolean | undefined;
};

export type EndingTone = "good" | "neutral" | "bad";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** "just now", "5 min", "3 h", "2 d": the time between two instants in milliseconds. */
export function ageWords(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < MINUTE_S) return "just now";
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h`;
  return `${Math.floor(seconds / DAY_S)} d`;
}

/** The same as a time in the past: "just now", "5 min ago". */
export function agoWords(sinceMs: number, nowMs: number): string {
  const age = ageWords(sinceMs, nowMs);
  return age === "just now" ? age : `${age} ago`;
}

/** The command as a user would type it: without the shell around a line, with quotes where needed. */
export function commandWords(command: readonly string[]): string {
  const [, option, line] = command;
  if (command.length === 3 && option === "-lc" && line !== undefined) return line;
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** The home folder as `~`; only the usual places are recognised. */
export function folderWords(cwd: string): string {
  return cwd.replace(/^(\/home\/[^/]+|\/root|\/Users\/[^/]+)(?=\/|$)/, "~");
}

/** The name without the folder that the server appends to a default name; the page shows the folder separately. */
export function nameWords({ name, cwd }: Pick<SessionRecord, "name" | "cwd">): string {
  const folder = [cwd, folderWords(cwd)].find((text) => name.endsWith(` (${text})`));
  return folder === undefined ? name : name.slice(0, -folder.length - 3);
}

/** Further text about a session in a list: its title, its command if the name differs, or nothing. */
export function detailWords(record: Pick<SessionRecord, "name" | "cwd" | "title" | "command">): string {
  const command = commandWords(record.command);
  return record.title ?? (nameWords(record) === command ? "" : command);
}

/** A few letters for a badge: "exit 0", "exit 127", "SIGKILL", "ended", "lost". */
export function endingBadge(ending: Ending): string {
  if (ending.endRequested) return "ended";
  if (ending.exitReason === "host_lost") return "lost";
  return ending.exitSignal ?? `exit ${ending.exitCode ?? "?"}`;
}

/** Bad: the program failed. An end by a user's key or signal is no failure. */
export function endingTone({ exitCode, exitSignal, exitReason, endRequested }: Ending): EndingTone {
  if (endRequested || REQUESTS.has(exitSignal ?? "")) return "neutral";
  return exitReason !== "host_lost" && exitSignal === undefined && exitCode === 0 ? "good" : "bad";
}

/** Signals and keys with which users end programs. */
const REQUESTS: ReadonlySet<string> = new Set(["SIGHUP", "SIGINT", "SIGTERM"]);

/** How the program ended and, if known, the usual reason. */
export function endingWords(ending: Ending): { readonly what: string; readonly why: string } {
  if (ending.endRequested) return { what: "Ended on request", why: "A user ended this session." };
  if (ending.exitReason === "host_lost") {
    return {
      what: "The session host ended",
      why: "The process that owned this terminal died, or the machine restarted. The output up to then is recorded.",
    };
  }
  if (ending.exitSignal !== undefined) {
    return {
      what: `Ended by ${ending.exitSignal}`,
      why: SIGNAL_WORDS[ending.exitSignal] ?? "A signal ended the program.",
    };
  }
  if (ending.exitCode === undefined) return { what: "Ended", why: "" };
  const what = ending.exitCode === 0 ? "Finished" : `Ended with code ${ending.exitCode}`;
  return { what, why: codeWords(ending.exitCode) };
}

const SIGNAL_WORDS: Readonly<Record<string, string>> = {
  SIGHUP: "The terminal was closed.",
  SIGINT: "It was interrupted (Ctrl+C).",
  SIGQUIT: "It was told to quit and dump core.",
  SIGABRT: "The program aborted.",
  SIGBUS: "It accessed memory that does not exist.",
  SIGFPE: "An arithmetic operation failed.",
  SIGILL: "It ran an illegal instruction.",
  SIGKILL: "It was killed, by a user or by the system when memory ran out.",
  SIGPIPE: "The pipe that it wrote to was closed.",
  SIGSEGV: "It accessed memory outside its own.",
  SIGTERM: "It was told to terminate.",
};

function codeWords(code: number): string {
  if (code === 0) return "The program ended successfully.";
  if (code === 126) return "The command was found but could not be run.";
  if (code === 127) return "The command was not found.";
  return "The program ended with an error.";
}
