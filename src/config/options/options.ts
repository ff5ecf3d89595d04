import {
  API_CALLS_PER_MINUTE,
  DEFAULT_MAX_RECORDING_BYTES,
  DEFAULT_PORT,
  SESSIONS_PER_MINUTE,
} from "../../protocol/limits.ts";
import { AUDIT_OPTIONS } from "./audit.ts";
import { FLEET_OPTIONS } from "./fleet.ts";
import { LOGIN_OPTIONS } from "./login.ts";
import { file, type Option, type Role, toggle, value } from "./option.ts";
import { certificates, privateKey } from "./pem.ts";
import { PROXY_OPTIONS } from "./proxy.ts";
import { RUNNING_OPTIONS } from "./running.ts";
import { bindAddress, byteCount, choice, integer, limit, path, socketAddress } from "./value.ts";

/** `auto`: text on a terminal, else JSON. */
export type LogFormat = "auto" | "json" | "text";

const SERVER: readonly Role[] = ["server"];
const BOTH: readonly Role[] = ["server", "session-host"];

/** Every option of `ttyhq serve` and `ttyhq session-host`: flags, variables, help and docs/options.md come from here. */
export const OPTIONS = {
  config: value<string | undefined>({
    name: "config",
    placeholder: "file",
    parse: path,
    isPath: true,
    fallback: undefined,
    fallbackText: "",
    prose: "Configuration file: YAML, with options by their names; see docs/configuration.md.",
    roles: BOTH,
  }),
  port: value({
    name: "port",
    placeholder: "number",
    parse: integer(0, 65_535),
    fallback: DEFAULT_PORT,
    fallbackText: String(DEFAULT_PORT),
    prose: "TCP port to listen on. 0 takes any free one.",
    roles: SERVER,
  }),
  bind: value({
    name: "bind",
    placeholder: "address",
    parse: bindAddress,
    fallback: "0.0.0.0",
    fallbackText: "0.0.0.0",
    prose: "Address to listen on. 127.0.0.1 keeps other machines out.",
    roles: SERVER,
  }),
  tlsCert: file({
    name: "tls-cert",
    parse: certificates,
    prose: "Certificate to serve HTTPS with, and those between it and its authority, in PEM form.",
    roles: SERVER,
  }),
  tlsKey: file({
    name: "tls-key",
    parse: privateKey,
    prose: "Private key of the certificate, in PEM form, without a passphrase.",
    roles: SERVER,
  }),
  controlDir: value({
    name: "control-dir",
    placeholder: "path",
    parse: path,
    isPath: true,
    fallback: "~/.ttyhq",
    fallbackText: "~/.ttyhq",
    prose: "Directory of the sessions, their recordings and the sockets; one for each server.",
    roles: BOTH,
  }),
  ...LOGIN_OPTIONS,
  ...PROXY_OPTIONS,
  ...FLEET_OPTIONS,
  rateLimitSessions: value({
    name: "rate-limit-sessions",
    placeholder: "number",
    parse: limit,
    fallback: SESSIONS_PER_MINUTE,
    fallbackText: String(SESSIONS_PER_MINUTE),
    prose: "Sessions that a user may create a minute. 0 for no limit.",
    roles: SERVER,
  }),
  rateLimitApi: value({
    name: "rate-limit-api",
    placeholder: "number",
    parse: limit,
    fallback: API_CALLS_PER_MINUTE,
    fallbackText: String(API_CALLS_PER_MINUTE),
    prose: "API calls that a user may make a minute. 0 for no limit.",
    roles: SERVER,
  }),
  metricsListen: value<{ readonly host: string; readonly port: number } | undefined>({
    name: "metrics-listen",
    placeholder: "address:port",
    parse: socketAddress,
    fallback: undefined,
    fallbackText: "",
    prose: "Serve /metrics, /livez, /readyz and /api/ready there as well, without encryption or login.",
    roles: SERVER,
  }),
  ...AUDIT_OPTIONS,
  maxRecordingSize: value({
    name: "max-recording-size",
    placeholder: "size",
    parse: byteCount,
    fallback: DEFAULT_MAX_RECORDING_BYTES,
    fallbackText: `${DEFAULT_MAX_RECORDING_BYTES / 2 ** 20}MiB`,
    prose:
      "Output kept of one session, in bytes or with a unit (kB, MB, GB, KiB, MiB, GiB). Recording stops there, the session goes on.",
    roles: BOTH,
  }),
  ...RUNNING_OPTIONS,
  recordInput: toggle({
    name: "record-input",
    prose: "Record what is typed as well, passwords included.",
    roles: BOTH,
  }),
  sessionHost: value<"apart" | "external" | "inline">({
    name: "session-host",
    placeholder: "where",
    parse: choice("apart", "external", "inline"),
    fallback: "apart",
    fallbackText: "apart",
    prose:
      "`apart`: sessions run in a process of their own and outlive the server. `external`: that process is started by others, such as another container of the pod; the server starts and ends none, and waits for it. `inline`: sessions end with the server.",
    roles: SERVER,
  }),
  hostSocket: value<string | undefined>({
    name: "host-socket",
    placeholder: "path",
    parse: path,
    isPath: true,
    fallback: undefined,
    fallbackText: "",
    prose:
      "Unix socket at which the session host listens, where that is not `host.sock` in the control directory: of two containers that share nothing but the folder of this socket each has a control directory of its own.",
    roles: BOTH,
  }),
  exitWhenIdle: toggle({
    name: "exit-when-idle",
    prose:
      "End when no program runs and nobody was connected for a minute. A server starts its session host so.",
    roles: ["session-host"],
  }),
  debug: toggle({ name: "debug", prose: "Log more.", roles: BOTH }),
  logFormat: value<LogFormat>({
    name: "log-format",
    placeholder: "format",
    parse: choice("auto", "json", "text"),
    fallback: "auto",
    fallbackText: "auto",
    prose:
      "Format of the log on standard error: `json`, `text`, or `auto`, which is text on a terminal and else JSON.",
    roles: BOTH,
  }),
} as const;

export type OptionKey = keyof typeof OPTIONS;

/** The options that a command takes, in the order of the table. */
export function optionsFor(role: Role): readonly Option[] {
  return Object.values<Option>(OPTIONS).filter((option) => option.roles.includes(role));
}
