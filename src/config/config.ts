import { isLoopbackName } from "../lib/net/address.ts";
import { ConfigError } from "./config-error.ts";
import { controlDirProblems } from "./control-dir.ts";
import { fleetKinds, readFleetRole } from "./fleet-role.ts";
import { readLogin } from "./login.ts";
import { headersIn } from "./options/audit.ts";
import { flagOf } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import { readProxyServe, readTls } from "./proxy-serve.ts";
import type { Sources } from "./sources/given.ts";
import { OptionReader } from "./sources/reader.ts";
import { flagWords, type Setting, settingsOf } from "./sources/settings.ts";

export type HostConfig = ReturnType<typeof readHost>;
/** `warnings`: for the log, one sentence each. */
export type Config = ReturnType<typeof readServer> & { readonly warnings: readonly string[] };

export type ConfigInput = Sources & {
  readonly user: string;
  readonly hostname: string;
};

const LOOPBACK = "127.0.0.1";

/** The configuration of `ttyhq serve`, frozen. Throws ConfigError with every problem. */
export function parseConfig(input: ConfigInput): Config {
  return parsed(input, (reader) => ({ ...readServer(reader, input), warnings: reader.warnings }));
}

/** The same for `ttyhq config`: problems are reported, not thrown. */
export function examineConfig(
  input: ConfigInput,
): Pick<OptionReader, "problems" | "warnings"> & { readonly settings: readonly Setting[] } {
  const reader = new OptionReader(input);
  readServer(reader, input);
  const settings = settingsOf(reader);
  return { settings, problems: reader.problems, warnings: reader.warnings };
}

function readServer(reader: OptionReader, input: ConfigInput) {
  const listen = readListen(reader);
  const auth = readLogin(reader, { host: listen.host, isHq: fleetKinds(reader).isHq });
  const role = readFleetRole(reader, { auth, hostname: input.hostname });
  const certificate = readTls(reader);
  const proxyServe = readProxyServe(reader, certificate, auth);
  // Behind our own proxy, which uses the certificate, the server speaks plain HTTP on a loopback address.
  const tls = auth.mode === "login" && auth.identity === "own-proxy" ? undefined : certificate;
  const publicUrl = reader.value(OPTIONS.publicUrl);
  const ownOrigin = publicUrl === undefined ? [] : [publicUrl];
  return {
    ...readHost(reader),
    ...{ listen, auth, role, tls, proxyServe, serverUser: input.user },
    /** Proxies in front whose X-Forwarded headers count. */
    trustedProxies: reader.list(OPTIONS.trustedProxy),
    metricsListen: reader.value(OPTIONS.metricsListen),
    canary: reader.isOn(OPTIONS.canary),
    /** Absolute; `undefined`: in the control directory. */
    auditLog: reader.value(OPTIONS.auditLog),
    auditShipping: readAuditShipping(reader),
    /** Certificates of authorities, in PEM form, that an HQ and its remotes trust in addition to the public ones. */
    trustedCa: reader.file(OPTIONS.hqCa),
    /** `undefined`: generated once and kept in the control directory. */
    tokenSecret: reader.secret(OPTIONS.jwtSecret),
    /** The origin at which users reach the server, where it differs from the address that it listens on. */
    publicUrl,
    /** Enforced by auth/policy.ts. Origins are spelled as browsers send them. */
    policy: {
      allowedOrigins: [...reader.list(OPTIONS.allowedOrigin), ...ownOrigin],
      isLoopbackHostOnly: auth.mode === "none" && isLoopbackName(listen.host),
    },
    /** Per user and minute; `undefined`: no limit. */
    rateLimits: {
      sessions: reader.value(OPTIONS.rateLimitSessions),
      apiCalls: reader.value(OPTIONS.rateLimitApi),
    },
    /** Of one file; 0: no file transfer. */
    maxUploadBytes: reader.value(OPTIONS.maxUpload),
    sessionHost: reader.value(OPTIONS.sessionHost),
    drainDelayMs: readDrainDelay(reader),
  } as const;
}

/** The delay is part of the grace period, and must leave time for connected clients. */
function readDrainDelay(reader: OptionReader): number {
  const delayMs = reader.value(OPTIONS.drainDelay);
  if (delayMs > 0 && delayMs > reader.value(OPTIONS.grace) / 2) {
    reader.refuse(
      "--drain-delay is more than half of --grace: nothing would be left for those who are connected",
    );
  }
  return delayMs;
}

/** With identity headers only the proxy may reach the server, and a remote that dials has no other way in. */
function readListen(reader: OptionReader): { readonly host: string; readonly port: number } {
  const host = reader.value(OPTIONS.bind);
  const port = reader.value(OPTIONS.port);
  const isProxied = reader.isOn(OPTIONS.enableProxyServe) && !reader.isOn(OPTIONS.noAuth);
  const option = isProxied ? OPTIONS.enableProxyServe : OPTIONS.hqDial;
  if (!isProxied && !reader.isOn(OPTIONS.hqDial)) return { host, port };
  const source = reader.sourceOf(OPTIONS.bind);
  if (source !== undefined && host !== LOOPBACK) {
    const remedy = isProxied ? ", and say with --proxy-listen where the proxy listens" : "";
    reader.refuse(
      `${flagOf(option)} listens on ${LOOPBACK} alone, and ${source} says ${host}: leave it out${remedy}`,
    );
  }
  if (source === undefined)
    reader.imply(OPTIONS.bind, { text: LOOPBACK, because: reader.sourceOf(option) ?? "" });
  return { host: LOOPBACK, port };
}

/** Absolute paths of a server's audit log. Throws ConfigError. */
export function parseAuditLog(input: ConfigInput): Pick<Config, "controlDir" | "auditLog"> {
  return parsed(input, (reader) => {
    return { controlDir: readControlDir(reader), auditLog: reader.value(OPTIONS.auditLog) };
  });
}

function readAuditShipping(reader: OptionReader) {
  const to = reader.list(OPTIONS.auditShip);
  const headers = reader.secret(OPTIONS.auditShipHeader);
  if (headers !== undefined && headersIn(headers) === undefined) {
    reader.refuse("--audit-ship-header-file: must have one `Name: value` a line");
  }
  if (headers !== undefined && !to.some(({ kind }) => kind === "http")) {
    reader.refuse("--audit-ship-header-file is for URLs: give one with --audit-ship, or leave it out");
  }
  return { to, headers } as const;
}

/** The configuration of `ttyhq session-host`, frozen. Throws ConfigError. */
export function parseHostConfig(input: ConfigInput): HostConfig & { readonly exitWhenIdle: boolean } {
  return parsed(input, (reader) => {
    return { ...readHost(reader), exitWhenIdle: reader.isOn(OPTIONS.exitWhenIdle) };
  });
}

function readHost(reader: OptionReader) {
  const controlDir = readControlDir(reader);
  return {
    /** Absolute. */
    controlDir,
    /** The flags that give `ttyhq session-host` this configuration; it inherits no variables of the server that starts it. */
    hostFlags: ["--control-dir", controlDir, ...flagWords(reader, "session-host").words],
    /** Absolute; `undefined`: in the control directory. */
    hostSocket: reader.value(OPTIONS.hostSocket),
    /** `maxBytes` per session; `keep`: limits for ended sessions. */
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
  } as const;
}

function readControlDir(reader: OptionReader): string {
  const path = reader.value(OPTIONS.controlDir);
  for (const problem of controlDirProblems(path)) reader.refuse(problem);
  return path;
}

function parsed<T>(input: ConfigInput, read: (reader: OptionReader) => T): T {
  const reader = new OptionReader(input);
  const config = read(reader);
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  freeze(config);
  return config;
}

function freeze(value: unknown): void {
  // Bytes cannot be frozen; secrets keep theirs to themselves.
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
