import { pino } from "pino";
import { redact, scrub } from "./lib/redact.ts";
import { traceFields } from "./lib/trace.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Events with fields: `log.warn({ remote: name, error }, "remote dropped")`. The message is constant. */
export type Log = {
  readonly [level in "debug" | "info" | "warn" | "error"]: (fields: Fields, message: string) => void;
} & {
  /** A log that adds these fields to every event. */
  child(fields: Fields): Log;
};

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
/** "auto": text on a terminal, else JSON. */
export type LogFormat = "auto" | "json" | "text";

/** Where lines go, such as `process.stderr`; a line ends with its newline. */
export type LogDestination = { write(line: string): unknown; readonly isTTY?: boolean };

/** Redacts secrets and adds the request's trace id. Use stderr: standard output belongs to the command line. */
export function createLogger(options: {
  readonly level: LogLevel;
  readonly format?: LogFormat;
  readonly destination: LogDestination;
}): Log {
  const { level, format = "auto", destination } = options;
  const isText = format === "text" || (format === "auto" && destination.isTTY === true);
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: traceFields,
    },
    { write: (line: string) => void destination.write(isText ? textLine(line) : line) },
  );
  return wrap(logger);
}

function wrap(logger: pino.Logger): Log {
  const write =
    (level: "debug" | "info" | "warn" | "error") =>
    (fields: Fields, message: string): void => {
      if (logger.isLevelEnabled(level)) logger[level](redact(fields), scrub(message));
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => wrap(logger.child(redact(fields))),
  };
}

/** `2026-01-31T12:00:00.000Z warn remote dropped remote="a"`, without control characters. */
function textLine(line: string): string {
  const { time, level, message, pid: _, ...fields }: Record<string, unknown> = JSON.parse(line);
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${level} ${message}${shown.join("")}`.replaceAll(/\p{Cc}/gu, escapeControl).concat("\n");
}

/** JSON escapes only those below U+0020; a terminal obeys U+0080 to U+009F as well. */
function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
