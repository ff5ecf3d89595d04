// The REST side of the contract, from the caller's end: of the page and of the command line.
import type { z } from "zod";
import { endpoints } from "../endpoints/endpoints.ts";
import { decodeResync, type Resync } from "../frame/payload.ts";
import type {
  AuthConfig,
  Challenge,
  ChallengeRequest,
  SshLogin,
  TokenRequest,
  TokenResponse,
  WsTicket,
} from "../schemas/auth.ts";
import type { Health } from "../schemas/health.ts";
import type {
  CreateSessionBody,
  Input,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../schemas/session.ts";
import type { CreateShare, NewShare, Share } from "../schemas/share.ts";
import { type Caller, createCaller } from "./caller.ts";
import type { Send } from "./send.ts";

/** Whether lines that scrolled off come too, and whether styles are marked, as `[style …]…[/style]`. */
export type ScreenView = { readonly scrollback?: boolean; readonly styles?: boolean };

/** The calls of the service by name, and any other endpoint by the Caller's own three. */
export type Client = Caller & {
  /** `signal` gives it up, which rejects with the signal's reason; so do the others that take one. */
  list(signal?: AbortSignal): Promise<readonly SessionRecord[]>;
  get(id: string): Promise<SessionRecord>;
  create(request: CreateSessionBody): Promise<SessionRecord>;
  rename(id: string, name: string): Promise<void>;
  /** Ends a running session, removes an ended one with its recording. */
  remove(id: string): Promise<Removal>;
  input(id: string, input: Input): Promise<void>;
  resize(id: string, size: TerminalSize): Promise<void>;
  kill(id: string, signal: SignalName): Promise<void>;
  mark(id: string, label: string): Promise<void>;
  /** The screen, rows joined by line feeds. */
  screen(id: string, view?: ScreenView): Promise<string>;
  /** The screen at a byte of the output, as bytes that draw it on a terminal that was just reset. */
  resync(id: string): Promise<Resync>;
  /** An asciicast v2; with `follow` it goes on until the session ends. */
  recording(
    id: string,
    view: { readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** A link that opens the session: for a day, unless `expiresIn` says otherwise. */
  share(id: string, request: z.input<typeof CreateShare>): Promise<NewShare>;
  shares(id: string): Promise<readonly Share[]>;
  revokeShare(share: Pick<Share, "id" | "sessionId">): Promise<void>;
  health(signal?: AbortSignal): Promise<Health>;
  authConfig(): Promise<AuthConfig>;
  token(request: z.input<typeof TokenRequest>): Promise<TokenResponse>;
  /** What is to be signed with an SSH key, and what is answered to the signature (contract 5.2). */
  challenge(request: z.input<typeof ChallengeRequest>): Promise<Challenge>;
  sshLogin(request: SshLogin): Promise<TokenResponse>;
  wsTicket(signal?: AbortSignal): Promise<WsTicket>;
  logout(): Promise<void>;
};

export function createClient(send: Send): Client {
  const caller = createCaller(send);
  return { ...caller, ...sessionCalls(caller), ...shareCalls(caller), ...serverCalls(caller) };
}

function sessionCalls({ call, bytes, stream }: Caller) {
  return {
    list: (signal?: AbortSignal) => call(endpoints.listSessions, {}, signal),
    get: (id: string) => call(endpoints.getSession, { params: { id } }),
    create: (body: CreateSessionBody) => call(endpoints.createSession, { body }),
    rename: async (id: string, name: string) => {
      await call(endpoints.renameSession, { params: { id }, body: { name } });
    },
    remove: (id: string) => call(endpoints.deleteSession, { params: { id } }),
    input: async (id: string, body: Input) => {
      await call(endpoints.inputSession, { params: { id }, body });
    },
    resize: async (id: string, body: TerminalSize) => {
      await call(endpoints.resizeSession, { params: { id }, body });
    },
    kill: async (id: string, signal: SignalName) => {
      await call(endpoints.killSession, { params: { id }, body: { signal } });
    },
    mark: async (id: string, label: string) => {
      await call(endpoints.markSession, { params: { id }, body: { label } });
    },
    screen: async (id: string, { scrollback = false, styles = false }: ScreenView = {}) => {
      const query = { scrollback: scrollback ? "1" : "0", styles: styles ? "1" : "0" };
      return new TextDecoder().decode(await bytes(endpoints.sessionText, { params: { id }, query }));
    },
    resync: async (id: string) => decodeResync(await bytes(endpoints.sessionResync, { params: { id } })),
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
    revokeShare: async ({ id, sessionId }: Pick<Share, "id" | "sessionId">) => {
      await call(endpoints.revokeShare, { params: { id: sessionId, shareId: id } });
    },
  };
}

function serverCalls({ call }: Caller) {
  return {
    health: (signal?: AbortSignal) => call(endpoints.health, {}, signal),
    authConfig: () => call(endpoints.authConfig),
    token: (body: z.input<typeof TokenRequest>) => call(endpoints.createToken, { body }),
    challenge: (body: z.input<typeof ChallengeRequest>) => call(endpoints.createChallenge, { body }),
    sshLogin: (body: SshLogin) => call(endpoints.sshLogin, { body }),
    wsTicket: (signal?: AbortSignal) => call(endpoints.createWsTicket, {}, signal),
    logout: async () => {
      await call(endpoints.logout);
    },
  };
}
