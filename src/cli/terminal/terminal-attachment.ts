// The user's own terminal and a session, coupled: what `run` and `attach` are about.
import type { Client } from "../../protocol/client/client.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { CONNECT_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { ExitCode, signalExitCode } from "../command.ts";
import type { OutputStream } from "../process-context.ts";
import { printable } from "../text.ts";
import type { DetachKeys } from "./detach-keys.ts";
import { LinkNotice } from "./link-notice.ts";
import { SessionKeys } from "./session-keys.ts";
import { SessionScreen } from "./session-screen.ts";
import { SessionSize } from "./session-size.ts";
import { onSignals, type StopSignal, signalNumber } from "./signals.ts";
import type { Terminal } from "./terminal.ts";

export type AttachmentOptions = {
  readonly socket: SessionSocket;
  readonly client: Client;
  readonly terminal: Terminal;
  readonly sessionId: string;
  /** From the first byte, or from the current screen. */
  readonly from: "start" | "screen";
  readonly isReadOnly: boolean;
  readonly detachKeys: DetachKeys;
  readonly inputEnd: "eof" | "detach";
};

export type AttachmentEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "detached" }
  | { readonly kind: "stopped"; readonly signal: StopSignal };

const LOST = " ttyhq: connection lost, trying again; what you type is not sent ";

/**
 * Resolves when the program ends, the user detaches or a signal comes. Always restores the terminal. Rejects with the
 * server's error.
 */
export async function attachTerminal(options: AttachmentOptions): Promise<AttachmentEnd> {
  const { terminal, socket } = options;
  const end = Promise.withResolvers<AttachmentEnd>();
  // It may reject while another promise is awaited.
  end.promise.catch(() => undefined);
  try {
    using scope = new DisposableStack();
    scope.use(
      onSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => end.resolve({ kind: "stopped", signal })),
    );
    await socket.opened(CONNECT_TIMEOUT_MS);
    scope.use(terminal.raw());
    const screen = scope.use(sessionScreen(options, end));
    const size = scope.use(new SessionSize({ ...options, isSized: options.from === "start" }));
    if (options.from === "screen") {
      await size.send();
      await screen.draw();
    } else {
      screen.follow(0);
    }
    scope.use(linkNotice(options, { screen, size, end }));
    scope.use(sessionKeys(options, { screen, end }));
    return await end.promise;
  } finally {
    await terminal.flushed();
  }
}

type End = PromiseWithResolvers<AttachmentEnd>;

function sessionScreen({ socket, client, terminal, sessionId }: AttachmentOptions, end: End): SessionScreen {
  return new SessionScreen({
    socket,
    client,
    terminal,
    sessionId,
    exited: (exitCode) => end.resolve({ kind: "exited", exitCode }),
    refused: end.reject,
  });
}

function linkNotice(
  { socket }: AttachmentOptions,
  { screen, size, end }: { readonly screen: SessionScreen; readonly size: SessionSize; readonly end: End },
): LinkNotice {
  return new LinkNotice({
    socket,
    lost: () => screen.showStatus(LOST),
    restored: () => {
      size.sendChanged();
      // It never rejects.
      void screen.redraw();
    },
    closed: (error) => end.reject(error ?? new ServiceError("host_unreachable", "disconnected")),
  });
}

function sessionKeys(
  { terminal, detachKeys, isReadOnly, inputEnd, socket, sessionId }: AttachmentOptions,
  { screen, end }: { readonly screen: SessionScreen; readonly end: End },
): SessionKeys {
  return new SessionKeys({
    terminal,
    detachKeys,
    isReadOnly,
    inputEnd,
    write: (bytes) => socket.write(sessionId, bytes),
    detach: () => end.resolve({ kind: "detached" }),
    refused: () => {
      // Lost input matters only without a connection; the program may have ended.
      if (socket.state.kind !== "open") screen.showStatus(LOST);
    },
  });
}

/** Prints how to attach again, and returns the exit code: the program's own if it has ended. */
export function exitNotice(
  end: AttachmentEnd,
  { id, name }: Pick<SessionRecord, "id" | "name">,
  stderr: OutputStream,
): number {
  if (end.kind === "exited") return end.exitCode;
  stderr.write(`\r\n[${printable(name)} goes on; back to it with: ttyhq attach ${id}]\n`);
  return end.kind === "detached" ? ExitCode.Ok : signalExitCode(signalNumber(end.signal));
}
