import { join, resolve } from "node:path";
import { ConfigError } from "../config/config-error.ts";
import { controlDirProblems } from "../config/control-dir.ts";
import { absolutePath } from "../config/sources/given.ts";
import { isErrno } from "../lib/fs/atomic-file.ts";
import { readTrustedFile } from "../lib/fs/trusted-path.ts";
import { answers } from "../lib/os/unix-socket.ts";
import { type Client, createClient } from "../protocol/client/client.ts";
import type { OpenLink } from "../protocol/client/link.ts";
import type { Send } from "../protocol/client/send.ts";
import type { SessionSocket } from "../protocol/client/session-socket.ts";
import { errorMessage, isUnreachable, ServiceError } from "../protocol/errors.ts";
import { createSender } from "../remote/send.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { Values } from "./command.ts";
import type { Cli, ProcessContext } from "./process-context.ts";

export const SERVER_FLAGS = {
  controlDir: ["--control-dir <path>", "directory of the local server (~/.ttyhq)"],
  config: ["--config <file>", "configuration file of the local server, for its control directory"],
  url: [
    "--url <url>",
    "another server, such as https://term.example.com; its token is read from TTYHQ_TOKEN, or the file TTYHQ_TOKEN_FILE",
  ],
} as const;
export type ServerFlags = Partial<Values<typeof SERVER_FLAGS>>;

/** The local server, found by its control directory, or another by its URL. */
export type Server = {
  readonly client: Client;
  /** For messages: the control directory or the URL. */
  readonly name: string;
  /** `undefined` for a server with a URL. */
  readonly controlDir: string | undefined;
  connect(clientName: string): Promise<SessionSocket>;
  /** Whether a server listens; true for a server with a URL. */
  answers(): Promise<boolean>;
};

/** Does not connect yet. "any": the session host may replace a missing local server. */
export async function serverOf(flags: ServerFlags, cli: Cli, who: "any" | "server" = "any"): Promise<Server> {
  const isLocal = (flags.controlDir ?? flags.config) !== undefined;
  if (isLocal && flags.url) {
    const other = flags.controlDir === undefined ? "--config" : "--control-dir";
    throw new ConfigError([`--url and ${other} name two servers: give one of them`]);
  }
  // An empty variable is none.
  const url = flags.url ?? (isLocal ? "" : cli.env.TTYHQ_URL);
  return url ? distantServer(url, cli) : localServer(await localControlDir(flags, cli), cli, who);
}

/** Loads the option table only for a configuration file: that takes longer than most commands. */
async function localControlDir(flags: ServerFlags, cli: Cli): Promise<string> {
  const isGiven = flags.controlDir !== undefined || cli.env.TTYHQ_CONTROL_DIR;
  if (isGiven || !(flags.config || cli.env.TTYHQ_CONFIG)) return controlDirOf(flags.controlDir, cli);
  const [{ configInput }, { parseHostConfig }] = await Promise.all([
    import("./configuration.ts"),
    import("../config/config.ts"),
  ]);
  return parseHostConfig(await configInput({ config: flags.config }, cli)).controlDir;
}

/** The given one, that of the environment or the default, absolute. Throws ConfigError for an invalid path. */
export function controlDirOf(path: string | undefined, cli: Cli): string {
  const given = path ?? (cli.env.TTYHQ_CONTROL_DIR || "~/.ttyhq");
  const absolute = absolutePath(given, { kind: "flag" }, cli);
  const problems = controlDirProblems(absolute);
  if (problems.length > 0) throw new ConfigError(problems);
  return absolute;
}

/** Both serve the same API, to their own user only. */
export function localSockets(controlDir: string): { readonly server: string; readonly host: string } {
  return { server: join(controlDir, "server.sock"), host: join(controlDir, "host.sock") };
}

function localServer(controlDir: string, cli: Cli, who: "any" | "server"): Server {
  const { server, host } = localSockets(controlDir);
  const sockets = who === "any" ? [server, host] : [server];
  return {
    client: createClient(explained(socketSend(sockets), controlDir, who)),
    name: controlDir,
    controlDir,
    answers: async () => (await Promise.all(sockets.map(answers))).includes(true),
    connect: (clientName) => {
      const targets = sockets.map((socketPath) => ({ socketPath }));
      return connectTo(targets, clientName, cli);
    },
  };
}

function distantServer(text: string, cli: Cli): Server {
  const token = accessToken(cli);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const target = { url: originOf(text), headers };
  return {
    client: createClient(createSender(target).send),
    name: target.url,
    controlDir: undefined,
    answers: async () => true,
    connect: (clientName) => connectTo([target], clientName, cli),
  };
}

/** Loads the client of /ws, which few commands need. Each attempt tries all targets: the server may restart meanwhile. */
async function connectTo(
  targets: readonly UplinkTarget[],
  clientName: string,
  { version }: Cli,
): Promise<SessionSocket> {
  const [{ SessionSocket }, { openLink }] = await Promise.all([
    import("../protocol/client/session-socket.ts"),
    import("../remote/uplink.ts"),
  ]);
  const open: OpenLink = (handlers, signal) =>
    firstOf(targets, isUnreachable, (target) => openLink(target, handlers, signal));
  return new SessionSocket({ clientName, version, open });
}

/** The result of the first attempt that succeeds. Throws other errors than `mayPass` admits, and the last error. */
async function firstOf<Target, Result>(
  targets: readonly Target[],
  mayPass: (error: unknown) => boolean,
  attempt: (target: Target) => Promise<Result>,
): Promise<Result> {
  let failure: unknown;
  for (const target of targets) {
    try {
      return await attempt(target);
    } catch (error) {
      if (!mayPass(error)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function explained(send: Send, controlDir: string, who: "any" | "server"): Send {
  // `ttyhq run` starts only a session host.
  const orProgram = who === "any" ? ", or a program with `ttyhq run`" : "";
  const message = `no server answers in ${controlDir}; start one with \`ttyhq serve\`${orProgram}`;
  return (request) =>
    send(request).catch((cause: unknown) => {
      throw isNotListening(cause) ? new ServiceError("host_unreachable", message, { cause }) : cause;
    });
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new ServiceError(
    "invalid_request",
    `--url must be an http or https address, not ${JSON.stringify(text)}`,
  );
}

/** The access token for another server, if any. Throws ConfigError. */
function accessToken({ env, cwd }: Pick<ProcessContext, "env" | "cwd">): string | undefined {
  const { TTYHQ_TOKEN: token, TTYHQ_TOKEN_FILE: path } = env;
  // An empty variable is none.
  if (!path) return token || undefined;
  if (token) throw new ConfigError(["TTYHQ_TOKEN and TTYHQ_TOKEN_FILE are both set: set one of them"]);
  try {
    return new TextDecoder().decode(readTrustedFile(resolve(cwd, path))).trimEnd();
  } catch (error) {
    const reason = errorMessage(error);
    throw new ConfigError([`TTYHQ_TOKEN_FILE: cannot read the file: ${reason}`]);
  }
}

/** Sends requests over the first unix socket with a listener, so that no request is sent twice. */
function socketSend(socketPaths: readonly string[]): Send {
  // Not disposed: idle connections do not keep the process alive.
  const senders = socketPaths.map((socketPath) => createSender({ socketPath }));
  return (request) => firstOf(senders, isNotListening, ({ send }) => send(request));
}

/** A client of the process that listens on that unix socket. */
export function clientAt(socketPath: string): Client {
  return createClient(socketSend([socketPath]));
}

/** The session host of a local server. Throws `invalid_request` for a server with a URL. */
export function hostOf({ controlDir }: Server): Client {
  if (controlDir !== undefined) return clientAt(localSockets(controlDir).host);
  throw new ServiceError("invalid_request", "--session-host is asked by its control directory, not by --url");
}

/** For `catch`: `undefined` if the request failed because no server listens. */
export function unlessListening(error: unknown): undefined {
  if (!isNotListening(error)) throw error;
}

export function isNotListening(error: unknown): boolean {
  return isUnreachable(error) && isErrno(error.cause, "ENOENT", "ECONNREFUSED");
}
