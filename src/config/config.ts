import { join, resolve } from "node:path";
import { isLoopbackName } from "../lib/address.ts";
import type { Secret } from "../lib/secret.ts";
import { MAX_SOCKET_DIRECTORY_BYTES } from "../lib/unix-socket.ts";
import { ConfigError } from "./config-error.ts";
import { type LogFormat, OPTIONS } from "./options.ts";
import { OptionReader, type Sources } from "./reader.ts";

/** How people log in. With "login", at least one of `password` and `loginLink` is there. */
export type AuthConfig =
  | { readonly mode: "none" }
  | {
      readonly mode: "login";
      readonly password: ConfiguredPassword | undefined;
      /** A one-time login link is made and printed at the start. */
      readonly loginLink: boolean;
      readonly allowUsers: readonly string[];
    };

/** SERVICE_USERNAME and SERVICE_PASSWORD. */
export type ConfiguredPassword = {
  readonly kind: "configured";
  readonly username: string;
  readonly password: Secret;
};

/** What the session host needs to know. */
export type HostConfig = {
  /** Absolute. */
  readonly controlDir: string;
  /** `maxBytes` for each session. */
  readonly recording: { readonly maxBytes: number; readonly withInput: boolean };
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
  /** `undefined`: made once and kept in the control directory. */
  readonly tokenSecret: Secret | undefined;
  /** What auth/policy.ts enforces: origins as browsers send them; loopback names alone where nobody logs in. */
  readonly policy: { readonly allowedOrigins: readonly string[]; readonly isLoopbackHostOnly: boolean };
  /** For each user and minute; `undefined`: no limit. */
  readonly rateLimits: { readonly sessions: number | undefined; readonly apiCalls: number | undefined };
  readonly sessionHost: "apart" | "inline";
  /** For the log, one sentence each. */
  readonly warnings: readonly string[];
};

export type ConfigInput = Sources & {
  /** The home directory and name of the user that the process runs as, and where it was started. */
  readonly home: string;
  readonly user: string;
  readonly cwd: string;
};

/** The configuration of `ttyhq serve`, frozen. Throws ConfigError with everything that is wrong or contradicts. */
export function parseConfig(input: ConfigInput): Config {
  const reader = readerOf(input);
  const listen = { host: reader.value(OPTIONS.bind), port: reader.value(OPTIONS.port) };
  const { auth, problems, warnings } = readAuth(reader, listen.host);
  const host = readHost(reader, input);
  const config: Config = {
    ...host,
    listen,
    serverUser: input.user,
    auth,
    tokenSecret: reader.secret(OPTIONS.jwtSecret),
    policy: {
      allowedOrigins: reader.list(OPTIONS.allowedOrigin),
      isLoopbackHostOnly: auth.mode === "none" && isLoopbackName(listen.host),
    },
    rateLimits: {
      sessions: reader.value(OPTIONS.rateLimitSessions),
      apiCalls: reader.value(OPTIONS.rateLimitApi),
    },
    sessionHost: reader.value(OPTIONS.sessionHost),
    warnings,
  };
  return finish(config, [...reader.problems, ...controlDirProblems(host.controlDir), ...problems]);
}

/** The configuration of `ttyhq session-host`, frozen. Throws ConfigError. */
export function parseHostConfig(input: ConfigInput): SessionHostConfig {
  const reader = readerOf(input);
  const config = { ...readHost(reader, input), exitWhenIdle: reader.isOn(OPTIONS.exitWhenIdle) };
  return finish(config, [...reader.problems, ...controlDirProblems(config.controlDir)]);
}

function readerOf(input: ConfigInput): OptionReader {
  return new OptionReader({ ...input, readFile: (path) => input.readFile(absolute(path, input)) });
}

function readHost(reader: OptionReader, input: ConfigInput): HostConfig {
  return {
    controlDir: absolute(reader.value(OPTIONS.controlDir), input),
    recording: {
      maxBytes: reader.value(OPTIONS.maxRecordingSize),
      withInput: reader.isOn(OPTIONS.recordInput),
    },
    log: {
      level: reader.isOn(OPTIONS.debug) ? "debug" : "info",
      format: reader.value(OPTIONS.logFormat),
    },
  };
}

/** A sentence if the sockets in an absolute control directory would have paths that no system takes. */
export function controlDirProblems(path: string): readonly string[] {
  const length = Buffer.byteLength(path);
  if (length <= MAX_SOCKET_DIRECTORY_BYTES) return [];
  return [
    `--control-dir: ${path} has ${length} bytes, must have at most ${MAX_SOCKET_DIRECTORY_BYTES}, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one`,
  ];
}

type AuthReading = {
  readonly auth: AuthConfig;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

function readAuth(reader: OptionReader, host: string): AuthReading {
  const noAuth = reader.isOn(OPTIONS.noAuth);
  const username = reader.value(OPTIONS.serviceUsername);
  const password = reader.secret(OPTIONS.servicePassword);
  const loginLink = reader.isOn(OPTIONS.loginLink);
  const allowUsers = reader.list(OPTIONS.allowUser);
  if (noAuth) {
    const hasPair = username !== undefined || password !== undefined;
    return { auth: { mode: "none" }, problems: [], warnings: warningsWithoutLogin(host, hasPair) };
  }
  const problems: string[] = [];
  if ((username === undefined) !== (password === undefined)) {
    const [set, missing] = username === undefined ? ["PASSWORD", "USERNAME"] : ["USERNAME", "PASSWORD"];
    problems.push(`SERVICE_${set} is set without SERVICE_${missing}: set both or none`);
  } else if (username === undefined && !loginLink) {
    problems.push(NOBODY_COULD_LOG_IN);
  }
  const configured =
    username === undefined || password === undefined
      ? undefined
      : ({ kind: "configured", username, password } as const);
  return { auth: { mode: "login", password: configured, loginLink, allowUsers }, problems, warnings: [] };
}

const NOBODY_COULD_LOG_IN =
  "nobody could log in: set SERVICE_USERNAME and SERVICE_PASSWORD, or give --login-link for a link that logs in once, or --no-auth for no login at all";

function warningsWithoutLogin(host: string, hasPair: boolean): readonly string[] {
  const warnings: string[] = [];
  if (!isLoopbackName(host)) {
    warnings.push(
      `--no-auth on ${host}: everyone who reaches this address runs programs as the server's user; give --bind 127.0.0.1 to keep other machines out`,
    );
  }
  if (hasPair) warnings.push("--no-auth: SERVICE_USERNAME and SERVICE_PASSWORD are not used");
  return warnings;
}

/** The shell expands `~` in a flag of its own word; in a variable, or after `=`, nobody does. */
function absolute(path: string, { home, cwd }: Pick<ConfigInput, "home" | "cwd">): string {
  const expanded = path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
  return resolve(cwd, expanded);
}

function finish<T extends object>(config: T, problems: readonly string[]): T {
  if (problems.length > 0) throw new ConfigError(problems);
  freeze(config);
  return config;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
