import {
  API_CALLS_PER_MINUTE,
  DEFAULT_DRAIN_DELAY_MS,
  DEFAULT_GRACE_MS,
  DEFAULT_MAX_RECORDING_BYTES,
  DEFAULT_MAX_UPLOAD_BYTES,
  DEFAULT_PORT,
  SESSIONS_PER_MINUTE,
} from "../../protocol/limits.ts";
import { AUDIT_OPTIONS } from "./audit.ts";
import { FLEET_OPTIONS } from "./fleet.ts";
import { LOGIN_OPTIONS } from "./login.ts";
import { file, type Option, optional, type Role, toggle, value } from "./option.ts";
import { PROXY_OPTIONS } from "./proxy.ts";
import { retention, span } from "./span.ts";
import {
  bindAddress,
  byteCount,
  byteCountOrNone,
  certificates,
  choice,
  integer,
  limit,
  path,
  privateKey,
  socketAddress,
} from "./value.ts";

const BOTH: readonly Role[] = ["server", "session-host"];

/** Every option of `ttyhq serve` and `ttyhq session-host`: flags, variables, help and docs/options.md come from here. */
export const OPTIONS = {
  config: optional("config <file>", path, {
    isPath: true,
    prose: "Configuration file: YAML, with options by their names; see docs/configuration.md.",
    roles: BOTH,
  }),
  port: value("port <number>", integer(0, 65_535), {
    fallback: `${DEFAULT_PORT}`,
    prose: "TCP port to listen on. 0 picks a free one.",
  }),
  bind: value("bind <address>", bindAddress, {
    fallback: "0.0.0.0",
    prose: "Address to listen on. 127.0.0.1 keeps other machines out.",
  }),
  tlsCert: file("tls-cert", certificates, {
    prose: "Certificate for HTTPS and its intermediate certificates, in PEM form.",
  }),
  tlsKey: file("tls-key", privateKey, {
    prose: "Private key of the certificate, in PEM form, without a passphrase.",
  }),
  controlDir: value("control-dir <path>", path, {
    isPath: true,
    fallback: "~/.ttyhq",
    prose: "Directory for sessions, recordings and sockets; each server needs its own.",
    roles: BOTH,
  }),
  ...LOGIN_OPTIONS,
  ...PROXY_OPTIONS,
  ...FLEET_OPTIONS,
  rateLimitSessions: value("rate-limit-sessions <number>", limit, {
    fallback: `${SESSIONS_PER_MINUTE}`,
    prose: "Sessions that a user may create per minute. 0 for no limit.",
  }),
  rateLimitApi: value("rate-limit-api <number>", limit, {
    fallback: `${API_CALLS_PER_MINUTE}`,
    prose: "API calls that a user may make per minute. 0 for no limit.",
  }),
  metricsListen: optional("metrics-listen <address:port>", socketAddress, {
    prose: "Serve /metrics, /livez, /readyz and /api/ready on this address too, without encryption or login.",
  }),
  canary: toggle("canary", {
    prose:
      "Keep a small session named canary on each machine (of an HQ on its remotes), and check as a viewer that no byte of its output is lost: ttyhq_bytes_lost_total at /metrics.",
  }),
  ...AUDIT_OPTIONS,
  maxRecordingSize: value("max-recording-size <size>", byteCount, {
    fallback: `${DEFAULT_MAX_RECORDING_BYTES / 2 ** 20}MiB`,
    prose:
      "Limit of the output recorded per session, in bytes or with a unit (kB, MB, GB, KiB, MiB, GiB). At the limit the recording stops; the session continues.",
    roles: BOTH,
  }),
  maxUpload: value("max-upload <size>", byteCountOrNone, {
    fallback: `${DEFAULT_MAX_UPLOAD_BYTES / 2 ** 20}MiB`,
    prose:
      "Limit of a file that is sent into a session, in bytes or with a unit. 0: no files are sent into sessions or fetched from them.",
  }),
  grace: value("grace <time>", span("1s", "1h", "20s"), {
    fallback: `${DEFAULT_GRACE_MS / 1_000}s`,
    prose:
      "How long stopping may take after SIGTERM: for running downloads, and in a session host for programs and their recordings.",
    roles: BOTH,
  }),
  drainDelay: value("drain-delay <time>", span("0s", "1h", "5s"), {
    fallback: `${DEFAULT_DRAIN_DELAY_MS / 1_000}s`,
    prose:
      "How long the server keeps serving after SIGTERM while /readyz already fails, so that a load balancer can move on. Part of `--grace`.",
  }),
  keepRecordings: optional("keep-recordings <age,size>", retention, {
    prose:
      "How much of ended sessions is kept: sessions that ended longer ago than an age such as 30d are removed with their recordings, and the oldest ones while all together exceed a size such as 10GB. Either, or both with a comma. Default: everything.",
    roles: BOTH,
  }),
  recordInput: toggle("record-input", {
    prose: "Record what users type as well, passwords included.",
    roles: BOTH,
  }),
  sessionHost: value("session-host <where>", choice("apart", "external", "inline"), {
    fallback: "apart",
    prose:
      "`apart`: sessions run in a process of their own and outlive the server. `external`: something else starts that process, such as another container of the pod; the server waits for it and never starts or stops it. `inline`: sessions end with the server.",
  }),
  hostSocket: optional("host-socket <path>", path, {
    isPath: true,
    prose:
      "Unix socket of the session host, if it is not `host.sock` in the control directory. For a server and a session host in two containers that share only the socket's directory, each with its own control directory.",
    roles: BOTH,
  }),
  exitWhenIdle: toggle("exit-when-idle", {
    prose:
      "Exit when no program has run and no client has been connected for a minute. A server starts its session host with this option.",
    roles: ["session-host"],
  }),
  debug: toggle("debug", { prose: "Log more.", roles: BOTH }),
  logFormat: value("log-format <format>", choice("auto", "json", "text"), {
    fallback: "auto",
    prose:
      "Format of the log on standard error: `json`, `text`, or `auto`: text on a terminal, JSON otherwise.",
    roles: BOTH,
  }),
} as const;

/** The options that a command takes, in the order of the table. */
export function optionsFor(role: Role): readonly Option[] {
  return Object.values<Option>(OPTIONS).filter((option) => option.roles.includes(role));
}
