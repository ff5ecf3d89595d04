// Shows a session on the user's own terminal, for `run` and `attach`.
import { setTimeout as pause } from "node:timers/promises";
import type { ConnectionState } from "../../protocol/client/connection.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import { ServiceError, unless } from "../../protocol/errors.ts";
import { CONNECT_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { ExitCode } from "../command.ts";
import type { Cli } from "../process-context.ts";
import type { Server } from "../server.ts";
import { printable } from "../text.ts";
import { DEFAULT_DETACH_KEYS, type DetachKeys, parseDetachKeys } from "./detach-keys.ts";
import { SessionKeys } from "./session-keys.ts";
import { SessionScreen } from "./session-screen.ts";
import { SessionSize } from "./session-size.ts";
import { onSignals, signalExitCode } from "./signals.ts";
import { Terminal } from "./terminal.ts";

export const ATTACHMENT_FLAGS = {
  quiet: ["-q, --quiet", "do not say how to detach and how to attach again"],
  detachKeys: [
    "--detach-keys <keys>",
    `keys that leave the session running, such as ctrl-p,ctrl-q, or none, each within half a second of the one before; also TTYHQ_DETACH_KEYS (${DEFAULT_DETACH_KEYS})`,
    parseDetachKeys,
  ],
} as const;

type AttachmentOptions = {
  readonly cli: Cli;
  readonly server: Server;
  readonly session: Pick<SessionRecord, "id" | "name" | "cols" | "rows">;
  /** `run` begins at the first byte and passes the end of a pipe on; `attach` begins at the current screen, and detaches. */
  readonly command: "run" | "attach";
  readonly isReadOnly: boolean;
  readonly isQuiet: boolean;
  readonly detachKeys: DetachKeys;
};

type Options = AttachmentOptions & { readonly socket: SessionSocket; readonly terminal: Terminal };

/** `hasExited`: the program, and with that code. */
type AttachmentEnd = { readonly exitCode: number; readonly hasExited: boolean };

const LOST = " ttyhq: connection lost, trying again; what you type is not sent ";
const FULL = " ttyhq: the program does not read; some of what you typed was not sent ";
const HINT_MS = 3_000;
const PIPE_PATIENCE_MS = 24 * 3_600_000;
const OVERFLOW_RETRY_MS = 200;

/**
 * Shows a session on the user's terminal until its program ends, the user detaches, a signal comes or the output is closed. Always restores
 * the terminal. Resolves with the exit code: the program's own if it has ended. Rejects with the server's error.
 */
export async function attachTerminal(options: AttachmentOptions): Promise<number> {
  const { cli, server, session, command, isQuiet } = options;
  const name = printable(session.name);
  const notice = (text: string): void => void (isQuiet || cli.stderr.write(text));
  const keepsRunning = (): void =>
    notice(`\r\n[${name} keeps running; back to it with: ttyhq attach ${printable(session.id)}]\n`);
  using socket = await server.connect(command);
  try {
    const terminal = new Terminal(cli);
    const { exitCode, hasExited } = await shown({ ...options, socket, terminal }, keepsRunning);
    if (!hasExited) keepsRunning();
    else if (command === "attach") notice(`[${name} ended with ${exitCode}]\n`);
    return exitCode;
  } catch (error) {
    // The user has not seen the id of the new session yet.
    const isGone = error instanceof ServiceError && error.code === "session_not_found";
    if (command === "run" && !isGone) keepsRunning();
    throw error;
  }
}

async function shown(options: Options, keepsRunning: () => void): Promise<AttachmentEnd> {
  const { terminal } = options;
  const end = Promise.withResolvers<AttachmentEnd>();
  try {
    using scope = new DisposableStack();
    const leave = (exitCode: number): void => end.resolve({ exitCode, hasExited: false });
    scope.use(terminal.onStop((signal) => leave(signalExitCode(signal)), keepsRunning));
    scope.use(terminal.onOutput("error", () => leave(ExitCode.Ok)));
    return await Promise.race([end.promise, untilEnd(options, scope, end)]);
  } finally {
    await terminal.flushed();
  }
}

/** The server may answer late: once the scope is disposed of, the terminal is no longer touched. */
async function untilEnd(
  options: Options,
  scope: DisposableStack,
  end: PromiseWithResolvers<AttachmentEnd>,
): Promise<AttachmentEnd> {
  const { terminal, socket, cli, command, session, server } = options;
  const hint = hintOf(options);
  const common = { ...options, client: server.client, sessionId: session.id };
  await socket.opened(CONNECT_TIMEOUT_MS);
  if (scope.disposed) return await end.promise;
  if (hint !== undefined && command === "run") cli.stderr.write(`[${hint}]\n`);
  scope.use(terminal.raw());
  const exited = (exitCode: number): void => end.resolve({ exitCode, hasExited: true });
  const screen = scope.use(new SessionScreen({ ...common, exited, refused: end.reject }));
  const created = command === "run" ? session : undefined;
  const size = scope.use(new SessionSize({ ...common, created }));
  const onFull = (): void => {
    if (!scope.disposed && !screen.hasStatus) scope.use(briefly(FULL, screen, socket));
  };
  const readKeys = (): void => void scope.use(sessionKeys({ ...options, onFull }, screen, end));
  scope.use(watchLink(socket, linkEvents(screen, size, end)));
  // Keys also detach while the screen is awaited. The end of a pipe detaches only from a screen that was shown.
  if (terminal.isInteractive) {
    readKeys();
    // A shell has written to the screen. If the new one does not arrive, that one stays.
    scope.use(onSignals(["SIGCONT"], () => void screen.draw().catch(() => undefined)));
  }
  if (command === "attach") {
    await size.send();
    await screen.draw();
    if (scope.disposed) return await end.promise;
    if (hint !== undefined) scope.use(briefly(` ${hint} `, screen, socket));
  } else {
    size.sendChanged();
    screen.follow(0);
  }
  if (!terminal.isInteractive) readKeys();
  return await end.promise;
}

function linkEvents(
  screen: SessionScreen,
  size: SessionSize,
  end: PromiseWithResolvers<AttachmentEnd>,
): Parameters<typeof watchLink>[1] {
  return {
    lost: () => screen.showStatus(LOST),
    restored: () => {
      size.sendChanged();
      // It never rejects.
      void screen.redraw();
    },
    closed: (error = new ServiceError("host_unreachable", "disconnected")) => end.reject(error),
  };
}

/** How to leave the session; pipes have no keys. */
function hintOf({ cli, terminal, session, detachKeys, isReadOnly, isQuiet }: Options): string | undefined {
  if (isQuiet || !terminal.isInteractive || cli.stderr.isTTY !== true) return undefined;
  const keys = isReadOnly ? "ctrl-c" : detachKeys.keys.length > 0 && detachKeys.text.replaceAll(",", " ");
  return keys ? `press ${keys} to detach: ${printable(session.name)} keeps running` : undefined;
}

/** The screen was just drawn, so that a line before it would be gone. */
function briefly(text: string, screen: SessionScreen, socket: SessionSocket): Disposable {
  screen.showStatus(text);
  const timer = setTimeout(() => {
    // Otherwise the status says that the connection is lost.
    if (socket.state.kind === "open") void screen.redraw();
  }, HINT_MS);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

function sessionKeys(
  { command, socket, session, onFull, ...common }: Options & { readonly onFull: () => void },
  screen: SessionScreen,
  end: PromiseWithResolvers<AttachmentEnd>,
): SessionKeys {
  const { isInteractive } = common.terminal;
  const { id } = session;
  return new SessionKeys({
    ...common,
    inputEnd: command === "run" ? "eof" : "detach",
    write: (bytes) => (isInteractive ? socket.write(id, bytes) : writeWhenPossible(socket, id, bytes)),
    detach: () => end.resolve({ exitCode: ExitCode.Ok, hasExited: false }),
    refused: (error) => {
      // The exit of the program is on its way.
      if (error instanceof ServiceError && error.code === "session_not_running") return;
      if (!isInteractive) end.reject(error);
      else if (socket.state.kind !== "open") screen.showStatus(LOST);
      else if (error instanceof ServiceError && error.code === "input_overflow") onFull();
    },
  });
}

/**
 * For a pipe, which can wait for a connection and for a program that reads; keys that arrive late could mean something else.
 * Rejects if the server refuses for another reason, or if the input may not have arrived.
 */
async function writeWhenPossible(socket: SessionSocket, sessionId: string, bytes: Uint8Array): Promise<void> {
  for (;;) {
    await socket.opened(PIPE_PATIENCE_MS);
    const written = socket.write(sessionId, bytes).then(() => true);
    if (await written.catch(unless("input_overflow"))) return;
    await pause(OVERFLOW_RETRY_MS);
  }
}

/** Shorter interruptions are not reported: nothing was lost. */
const QUIET_MS = 1_000;

/** Decides when the user is told about the connection. `lost`: for longer than QUIET_MS. `closed`: for good. */
export function watchLink(
  socket: Pick<SessionSocket, "onState" | "state">,
  on: { lost(): void; restored(): void; closed(error: ServiceError | undefined): void },
): Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (state: ConnectionState): void => {
    if (state.kind !== "open" && state.kind !== "closed") {
      if (state.isPlanned !== true) timer ??= setTimeout(on.lost, QUIET_MS);
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    if (state.kind === "open") on.restored();
    else on.closed(state.error);
  };
  const listening = socket.onState(changed);
  // The connection may have been lost before.
  if (socket.state.kind !== "open") changed(socket.state);
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      listening[Symbol.dispose]();
    },
  };
}
