// The REST API as calls, for the page and the command line.
import type { z } from "zod";
import { endpoints } from "../endpoints/endpoints.ts";
import { decodeResync, type Resync } from "../frame/payload.ts";
import type { ChallengeRequest, SshLogin, TokenRequest } from "../schemas/auth.ts";
import type { CreateSessionBody, Input, SignalName, TerminalSize } from "../schemas/session.ts";
import type { CreateShare, Share } from "../schemas/share.ts";
import { type Caller, createCaller } from "./caller.ts";
import type { Send } from "./send.ts";

/** Whether to include the scrollback, and to mark styles as `[style …]…[/style]`. */
export type ScreenView = { readonly scrollback?: boolean; readonly styles?: boolean };

/** The common calls by name, and the Caller for all endpoints. A `signal` aborts the call, which rejects with its reason. */
export type Client = Caller &
  ReturnType<typeof sessionCalls> &
  ReturnType<typeof shareCalls> &
  ReturnType<typeof serverCalls>;

export function createClient(send: Send): Client {
  const caller = createCaller(send);
  return { ...caller, ...sessionCalls(caller), ...shareCalls(caller), ...serverCalls(caller) };
}

function sessionCalls({ call, bytes, stream }: Caller) {
  return {
    list: (signal?: AbortSignal) => call(endpoints.listSessions, {}, signal),
    get: (id: string) => call(endpoints.getSession, { params: { id } }),
    create: (body: CreateSessionBody) => call(endpoints.createSession, { body }),
    rename: (id: string, name: string) => call(endpoints.renameSession, { params: { id }, body: { name } }),
    /** Ends a running session; removes an ended one with its recording. */
    remove: (id: string) => call(endpoints.deleteSession, { params: { id } }),
    input: (id: string, body: Input) => call(endpoints.inputSession, { params: { id }, body }),
    resize: (id: string, body: TerminalSize) => call(endpoints.resizeSession, { params: { id }, body }),
    kill: (id: string, signal: SignalName) =>
      call(endpoints.killSession, { params: { id }, body: { signal } }),
    mark: (id: string, label: string) => call(endpoints.markSession, { params: { id }, body: { label } }),
    /** The screen, rows joined by line feeds. */
    screen: async (id: string, { scrollback = false, styles = false }: ScreenView = {}) => {
      const query = { scrollback: scrollback ? "1" : "0", styles: styles ? "1" : "0" };
      return new TextDecoder().decode(await bytes(endpoints.sessionText, { params: { id }, query }));
    },
    /** The screen at an offset of the output, as bytes that draw it on a terminal after a reset. */
    resync: async (id: string): Promise<Resync> =>
      decodeResync(await bytes(endpoints.sessionResync, { params: { id } })),
    /** An asciicast v2; with `follow` until the session ends. */
    recording: async (id: string, { follow }: { readonly follow: boolean }, signal: AbortSignal) => {
      const query = { follow: follow ? "1" : "0" } as const;
      return (await stream(endpoints.sessionRecording, { params: { id }, query }, signal)).body;
    },
  };
}

function shareCalls({ call }: Caller) {
  return {
    share: (id: string, body: z.input<typeof CreateShare>) =>
      call(endpoints.createShare, { params: { id }, body }),
    shares: (id: string) => call(endpoints.listShares, { params: { id } }),
    revokeShare: ({ id, sessionId }: Pick<Share, "id" | "sessionId">) =>
      call(endpoints.revokeShare, { params: { id: sessionId, shareId: id } }),
  };
}

function serverCalls({ call }: Caller) {
  return {
    health: (signal?: AbortSignal) => call(endpoints.health, {}, signal),
    authConfig: () => call(endpoints.authConfig),
    token: (body: z.input<typeof TokenRequest>) => call(endpoints.createToken, { body }),
    /** A challenge to sign with an SSH key (contract 5.2). */
    challenge: (body: z.input<typeof ChallengeRequest>) => call(endpoints.createChallenge, { body }),
    sshLogin: (body: SshLogin) => call(endpoints.sshLogin, { body }),
    wsTicket: (signal?: AbortSignal) => call(endpoints.createWsTicket, {}, signal),
    logout: () => call(endpoints.logout),
  };
}
