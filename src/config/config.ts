import { isLoopbackName } from "../lib/net/address.ts";
import { MAX_SOCKET_DIRECTORY_BYTES } from "../lib/os/unix-socket.ts";
import type { Secret } from "../lib/secret.ts";
import { type AuditShipping, readAuditShipping } from "./audit-shipping.ts";
import { ConfigError } from "./config-error.ts";
import { type FleetRole, fleetKinds, readFleetRole } from "./fleet-role.ts";
import { type AuthConfig, readLogin } from "./login.ts";
import { type LogFormat, OPTIONS } from "./options/options.ts";
import type { Retention } from "./options/span.ts";
import { type ProxyServe, readProxyServe } from "./proxy-serve.ts";
import type { Sources } from "./sources/given.ts";
import { OptionReader } from "./sources/reader.ts";
import { type Setting, settingsOf } from "./sources/settings.ts";
import { readTls, type TlsConfig } from "./tls.ts";

/** What the session host needs to know. */
export type HostConfig = {
  /** Absolute. */
  readonly controlDir: string;
  /** Absolute; `undefined`: in the control directory. */
  readonly hostSocket: string | undefined;
  /** `maxBytes` for each session; `keep`: what is kept of ended ones, `undefined`: everything. */
  readonly recording: {
    readonly maxBytes: number;
    readonly withInput: boolean;
    readonly keep: Retention | undefined;
  };
  /** What stopping may take. */
  readonly graceMs: number;
  readonly log: { readonly level: "info" | "debug"; readonly format: LogFormat };
};

/** What `ttyhq session-host` was asked to be. */
export type SessionHostConfig = HostConfig & { readonly exitWhenIdle: boolean };

/** What the server was asked to be. */
export type Config = HostConfig & {
  /** `port` 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Who the server runs as. */
  readonly serverUser: string;
  readonly auth: AuthConfig;
  readonly role: FleetRole;
  /** `undefined`: http. */
  readonly tls: TlsConfig | undefined;
  /** Our own reverse proxy; `undefined`: none is started. */
  readonly proxyServe: ProxyServe | undefined;
  /** Proxies in front that say where a request came from. */
  readonly trustedProxies: readonly { readonly address: string; readonly prefix: number }[];
  /** Where metrics and probes are served apart; `undefined`: with everything else. */
  readonly metricsListen: { readonly host: string; readonly port: number } | undefined;
  /** Absolute; `undefined`: in the control directory. */
  readonly auditLog: string | undefined;
  readonly auditShipping: AuditShipping;
  /** Certificates of the authorities that an HQ and its remotes trust beside the public ones, in PEM form. */
  readonly trustedCa: Uint8Array | undefined;
  /** `undefined`: made once and kept in the control directory. */
  readonly tokenSecret: Secret | undefined;
  /** What auth/policy.ts enforces: origins as browsers send them; loopback names alone where nobody logs in. */
  readonly policy: {
    readonly allowedOrigins: readonly string[];
    readonly isLoopbackHostOnly: boolean;
    readonly isHttps: boolean;
  };
  /** For each user and minute; `undefined`: no limit. */
  readonly rateLimits: { readonly sessions: number | undefined; readonly apiCalls: number | undefined };
  /** How long a server goes on that says it is not ready any more. */
  readonly drainDelayMs: number;
  readonly sessionHost: "apart" | "external" | "inline";
  /** For the log, one sentence each. */
  readonly warnings: readonly string[];
};

export type ConfigInput = Sources & {
  /** The user that the process runs as. */
  readonly user: string;
  /** What other machines call this one. */
  readonly hostname: string;
};

const PROXIED_HOST = "127.0.0.1";

/** What a configuration comes to, right or not. */
export type Examination = {
  readonly settings: readonly Setting[];
  /** A sentence each. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

/** The configuration of `ttyhq serve`, frozen. Throws ConfigError with everything that is wrong or contradicts. */
export function parseConfig(input: ConfigInput): Config {
  const reader = new OptionReader(input);
  const config = readServer(reader, input);
  return finish({ ...config, warnings: reader.warnings }, reader.problems);
}

/** The same for those who ask what it is, and not for a server. */
export function examineConfig(input: ConfigInput): Examination {
  const reader = new OptionReader(input);
  readServer(reader, input);
  const settings = settingsOf(reader, "server");
  return { settings, problems: reader.problems, warnings: reader.warnings };
}

function readServer(reader: OptionReader, input: ConfigInput): Omit<Config, "warnings"> {
  const listen = readListen(reader);
  const auth = readLogin(reader, { host: listen.host, isHq: fleetKinds(reader).isHq });
  const role = readFleetRole(reader, { auth, hostname: input.hostname });
  const { tls, proxyServe } = readProxyServe(reader, readTls(reader), auth);
  return {
    ...readHost(reader),
    ...{ listen, auth, role, tls, proxyServe, serverUser: input.user },
    trustedProxies: reader.list(OPTIONS.trustedProxy),
    metricsListen: reader.value(OPTIONS.metricsListen),
    auditLog: readAuditLog(reader),
    auditShipping: readAuditShipping(reader),
    trustedCa: reader.file(OPTIONS.hqCa),
    tokenSecret: reader.secret(OPTIONS.jwtSecret),
    policy: {
      allowedOrigins: reader.list(OPTIONS.allowedOrigin),
      isLoopbackHostOnly: auth.mode === "none" && isLoopbackName(listen.host),
      isHttps: tls !== undefined,
    },
    rateLimits: {
      sessions: reader.value(OPTIONS.rateLimitSessions),
      apiCalls: reader.value(OPTIONS.rateLimitApi),
    },
    sessionHost: reader.value(OPTIONS.sessionHost),
    drainDelayMs: readDrainDelay(reader),
  };
}

/** Part of the grace period, of which something must be left. */
function readDrainDelay(reader: OptionReader): number {
  const delayMs = reader.value(OPTIONS.drainDelay);
  if (delayMs > 0 && delayMs > reader.value(OPTIONS.grace) / 2) {
    reader.refuse(
      "--drain-delay is more than half of --grace: nothing would be left for those who are connected",
    );
  }
  return delayMs;
}

/** Headers that say who asks are worth nothing where others can send them. */
function readListen(reader: OptionReader): Config["listen"] {
  const host = reader.value(OPTIONS.bind);
  const port = reader.value(OPTIONS.port);
  if (!reader.isOn(OPTIONS.enableProxyServe) || reader.isOn(OPTIONS.noAuth)) return { host, port };
  const source = reader.sourceOf(OPTIONS.bind);
  if (source !== undefined && host !== PROXIED_HOST) {
    reader.refuse(
      `--enable-proxy-serve listens on ${PROXIED_HOST} alone, and ${source} says ${host}: leave it out, and say with --proxy-listen where the proxy listens`,
    );
  }
  if (source === undefined) {
    const because = reader.sourceOf(OPTIONS.enableProxyServe) ?? "";
    reader.imply(OPTIONS.bind, { text: PROXIED_HOST, because });
  }
  return { host: PROXIED_HOST, port };
}

/** Where the audit log of a server is: absolute paths. Throws ConfigError. */
export function parseAuditLog(input: ConfigInput): Pick<Config, "controlDir" | "auditLog"> {
  const reader = new OptionReader(input);
  return finish({ controlDir: readControlDir(reader), auditLog: readAuditLog(reader) }, reader.problems);
}

function readAuditLog(reader: OptionReader): string | undefined {
  const path = reader.value(OPTIONS.auditLog);
  return path === undefined ? undefined : reader.absolute(OPTIONS.auditLog, path);
}

/** The configuration of `ttyhq session-host`, frozen. Throws ConfigError. */
export function parseHostConfig(input: ConfigInput): SessionHostConfig {
  const reader = new OptionReader(input);
  const config = { ...readHost(reader), exitWhenIdle: reader.isOn(OPTIONS.exitWhenIdle) };
  return finish(config, reader.problems);
}

function readHost(reader: OptionReader): HostConfig {
  return {
    controlDir: readControlDir(reader),
    hostSocket: readHostSocket(reader),
    recording: {
      maxBytes: reader.value(OPTIONS.maxRecordingSize),
      withInput: reader.isOn(OPTIONS.recordInput),
      keep: reader.value(OPTIONS.keepRecordings),
    },
    graceMs: reader.value(OPTIONS.grace),
    log: {
      level: reader.isOn(OPTIONS.debug) ? "debug" : "info",
      format: reader.value(OPTIONS.logFormat),
    },
  };
}

/** Absolute. */
function readControlDir(reader: OptionReader): string {
  const path = reader.absolute(OPTIONS.controlDir, reader.value(OPTIONS.controlDir));
  for (const problem of controlDirProblems(path)) reader.refuse(problem);
  return path;
}

/** Absolute. */
function readHostSocket(reader: OptionReader): string | undefined {
  const given = reader.value(OPTIONS.hostSocket);
  return given === undefined ? undefined : reader.absolute(OPTIONS.hostSocket, given);
}

/** A sentence if the sockets in an absolute control directory would have paths that no system takes. */
export function controlDirProblems(path: string): readonly string[] {
  const length = Buffer.byteLength(path);
  if (length <= MAX_SOCKET_DIRECTORY_BYTES) return [];
  return [
    `--control-dir: ${path} has ${length} bytes, must have at most ${MAX_SOCKET_DIRECTORY_BYTES}, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one`,
  ];
}

function finish<T extends object>(config: T, problems: readonly string[]): T {
  if (problems.length > 0) throw new ConfigError(problems);
  freeze(config);
  return config;
}

function freeze(value: unknown): void {
  // Bytes cannot be frozen; secrets keep theirs to themselves.
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value))
    return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
