// The REST API as calls, for the page and the command line.
import type { z } from "zod";
import { healthEndpoint } from "../endpoints/health.ts";
import { sessionEndpoints, shareEndpoints } from "../endpoints/session.ts";
import { decodeResync, type Resync } from "../frame/resync.ts";
import type { CreateSessionBody, Input, SignalName, TerminalSize } from "../schemas/session.ts";
import type { CreateShare, Share, ShareMode } from "../schemas/share.ts";
import { type Caller, createCaller } from "./caller.ts";
import type { Send } from "./send.ts";

/** Whether to include the scrollback, and to mark styles as `[style …]…[/style]`. */
type ScreenView = { readonly scrollback?: boolean; readonly styles?: boolean };

/**
 * The common calls by name, and the Caller for all endpoints. A `signal` aborts the call, which rejects with its reason.
 * Imports few groups of endpoints: a short command takes longer to make their schemas than to ask the server.
 */
export type Client = Caller & ReturnType<typeof sessionCalls> & ReturnType<typeof shareCalls>;

export function createClient(send: Send): Client {
  const caller = createCaller(send);
  return { ...caller, ...sessionCalls(caller), ...shareCalls(caller) };
}

function sessionCalls({ call, bytes, stream }: Caller) {
  return {
    health: (signal?: AbortSignal) => call(healthEndpoint.health, {}, signal),
    list: (signal?: AbortSignal) => call(sessionEndpoints.listSessions, {}, signal),
    get: (id: string) => call(sessionEndpoints.getSession, { params: { id } }),
    create: (body: CreateSessionBody) => call(sessionEndpoints.createSession, { body }),
    rename: (id: string, name: string) =>
      call(sessionEndpoints.renameSession, { params: { id }, body: { name } }),
    /** Ends a running session; removes an ended one with its recording. */
    remove: (id: string) => call(sessionEndpoints.deleteSession, { params: { id } }),
    /** Ends a running session; an ended one stays as it is. */
    end: (id: string) => call(sessionEndpoints.deleteSession, { params: { id }, query: { if: "running" } }),
    input: (id: string, body: Input) => call(sessionEndpoints.inputSession, { params: { id }, body }),
    resize: (id: string, body: TerminalSize) =>
      call(sessionEndpoints.resizeSession, { params: { id }, body }),
    kill: (id: string, signal: SignalName) =>
      call(sessionEndpoints.killSession, { params: { id }, body: { signal } }),
    mark: (id: string, label: string) =>
      call(sessionEndpoints.markSession, { params: { id }, body: { label } }),
    /** The screen, rows joined by line feeds. */
    screen: async (id: string, { scrollback = false, styles = false }: ScreenView = {}) => {
      const query = { scrollback: scrollback ? "1" : "0", styles: styles ? "1" : "0" };
      return new TextDecoder().decode(await bytes(sessionEndpoints.sessionText, { params: { id }, query }));
    },
    /** The screen at an offset of the output, as bytes that draw it on a terminal after a reset. */
    resync: async (id: string): Promise<Resync> =>
      decodeResync(await bytes(sessionEndpoints.sessionResync, { params: { id } })),
    /** An asciicast v2; with `follow` until the session ends. */
    recording: async (id: string, { follow }: { readonly follow: boolean }, signal: AbortSignal) => {
      const query = { follow: follow ? "1" : "0" } as const;
      return (await stream(sessionEndpoints.sessionRecording, { params: { id }, query }, signal)).body;
    },
    /** What a recording gets from its line `after` on, as server-sent events, until the session ends. */
    recordingAfter: async (id: string, after: number, signal: AbortSignal) =>
      (await stream(sessionEndpoints.sessionStream, { params: { id }, query: { after } }, signal)).body,
  };
}

function shareCalls({ call }: Caller) {
  return {
    share: (id: string, body: z.input<typeof CreateShare>) =>
      call(shareEndpoints.createShare, { params: { id }, body }),
    shares: (id: string) => call(shareEndpoints.listShares, { params: { id } }),
    updateShare: ({ id, sessionId }: Pick<Share, "id" | "sessionId">, mode: ShareMode) =>
      call(shareEndpoints.updateShare, { params: { id: sessionId, shareId: id }, body: { mode } }),
    revokeShare: ({ id, sessionId }: Pick<Share, "id" | "sessionId">) =>
      call(shareEndpoints.revokeShare, { params: { id: sessionId, shareId: id } }),
  };
}
