import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import { lastLines } from "../lib/fs/log-tail.ts";
import { createCaller } from "../protocol/client/caller.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { isUnreachable, ServiceError, unless } from "../protocol/errors.ts";
import { PROTOCOL_REVISION } from "../protocol/frame/frame.ts";
import { HOST_START_TIMEOUT_MS } from "../protocol/limits.ts";
import type { Health } from "../protocol/schemas/health.ts";
import { createSender } from "./send.ts";
import type { UplinkTarget } from "./uplink.ts";

const LOG_TAIL_BYTES = 2_000;

export type HostProgram = {
  /** Node and main.ts, or main.js. */
  readonly node: string;
  readonly main: string;
  /** Arguments of `session-host`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly controlDir: string;
  readonly socketPath: string;
  readonly logPath: string;
};

/**
 * Starts the session host unless one answers. Throws `host_incompatible` for one with another protocol revision, whose
 * sessions continue; and `host_unreachable`. A session host that is not ready within `timeoutMs` keeps starting, and the
 * next caller finds it: if each caller ended it, it would never finish reading its sessions.
 */
export async function ensureHost(program: HostProgram, timeoutMs = HOST_START_TIMEOUT_MS): Promise<Health> {
  const running = await hostHealth(program.socketPath);
  if (running !== undefined) return checkRevision(running);
  const failure = await startHost(program, timeoutMs).catch((error: unknown) => error);
  // Another server may have started one at the same time, which made ours exit.
  const started = await hostHealth(program.socketPath);
  if (started !== undefined) return checkRevision(started);
  if (failure !== undefined && !isTimeout(failure)) throw failure;
  const message = `the session host does not answer: see ${program.logPath}`;
  throw new ServiceError("host_unreachable", message, { cause: failure });
}

/** The health of a session host that is started elsewhere. Throws `host_unreachable` and `host_incompatible`. */
export async function findHost(socketPath: string): Promise<Health> {
  try {
    return checkRevision(await healthAt({ socketPath, noFollow: true }));
  } catch (cause) {
    if (!isUnreachable(cause)) throw cause;
    const message = `no session host answers at ${socketPath}: ${cause.message}`;
    throw new ServiceError("host_unreachable", message, { cause });
  }
}

/** Undefined if no session host answers. */
export async function hostHealth(socketPath: string): Promise<Health | undefined> {
  return await healthAt({ socketPath }).catch(unless("host_unreachable"));
}

async function healthAt(target: UplinkTarget): Promise<Health> {
  using sender = createSender(target);
  return await createCaller(sender.send).call(endpoints.health);
}

function checkRevision(health: Health): Health {
  if (health.protocol === PROTOCOL_REVISION) return health;
  throw new ServiceError(
    "host_incompatible",
    `the session host (version ${health.version}, pid ${health.pid}) uses revision ${health.protocol} of the protocol, ` +
      `this server revision ${PROTOCOL_REVISION}; its sessions continue: serve them with version ${health.version}, ` +
      "or end them and stop that process",
  );
}

/** In its own process group, so that signals to the server's group do not stop it. */
async function startHost(program: HostProgram, timeoutMs: number): Promise<void> {
  mkdirSync(program.controlDir, { recursive: true, mode: 0o700 });
  const log = openSync(program.logPath, "a", 0o600);
  try {
    const child = spawn(program.node, [program.main, "session-host", ...program.args], {
      detached: true,
      cwd: "/",
      env: { ...program.env },
      stdio: ["ignore", "pipe", log],
    });
    await withDeadline(listening(child, program.logPath), timeoutMs, "the start of the session host");
    child.unref();
  } finally {
    closeSync(log);
  }
}

/** The host writes to its standard output once, when it listens. If it exits instead, its log has the reason. */
async function listening(child: ChildProcess, logPath: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<"listening" | "exited">();
  child.once("error", reject);
  child.stdout?.once("data", () => resolve("listening"));
  child.once("exit", () => resolve("exited"));
  if ((await promise) === "exited")
    throw new ServiceError("host_unreachable", `the session host did not start: ${await logTail(logPath)}`);
  child.stdout?.destroy();
}

async function logTail(path: string): Promise<string> {
  const lines = (await lastLines(path, LOG_TAIL_BYTES)).map(messageOf);
  // The command line's error message; a stack trace may follow.
  return lines.findLast((line) => line.startsWith("ttyhq: ")) ?? lines.at(-1) ?? "";
}

/** The message of a JSON log line. */
function messageOf(line: string): string {
  try {
    const { level, message }: Readonly<Record<string, unknown>> = JSON.parse(line);
    return level === "error" ? `ttyhq: ${message}` : line;
  } catch {
    return line;
  }
}
