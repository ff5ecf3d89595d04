import type { Hub } from "../../hub/hub.ts";
import { inputKey } from "../../hub/requests.ts";
import { POSITION_HEADER, positionText } from "../../protocol/directory/session-change.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { CreateSession, Input, SessionRecord } from "../../protocol/schemas/session.ts";
import type { Content, SessionBackend, View } from "../../sessions/backend.ts";
import type { Context, Media, Routes } from "../route.ts";
import { SessionListJson } from "../session-list.ts";
import { cleanUpExited } from "./cleanup-exited.ts";

/** Sessions over REST (contract 2), for any backend. */
export function sessionRoutes(parts: SessionRouteParts): Routes {
  const { sessionsOf, ownRequest, hub } = parts;
  const viewersOf = (sessionId: string): number => hub.viewersOf(sessionId);
  const seen = (record: SessionRecord): SessionRecord => ({ ...record, viewers: viewersOf(record.id) });
  const listJson = new SessionListJson();
  return {
    listSessions: async (_, { principal, setHeader }) => {
      setHeader?.(POSITION_HEADER, positionText(hub.position));
      const records = await sessionsOf(principal).list();
      // Only the answer for callers with all sessions is cached.
      return principal.rights.kind === "all" ? listJson.of(records, viewersOf) : records.map(seen);
    },
    createSession: async ({ body }, { principal }) => {
      if (parts.remotes === undefined && body.labels !== undefined) {
        const message = "labels are for an HQ, which this server is not: leave them out";
        throw new ServiceError("invalid_request", message);
      }
      const isOwn = parts.remotes === undefined || body.remoteId === LOCAL;
      if (isOwn && parts.cordon?.isCordoned === true) throw cordoned(parts.cordon.machine);
      return seen(await sessionsOf(principal).create(ownRequest(body, principal)));
    },
    getSession: async ({ params }, { principal }) => seen(await sessionsOf(principal).get(params.id)),
    renameSession: async ({ params, body }, { principal }) => {
      const { name } = await sessionsOf(principal).rename(params.id, body.name);
      return { success: true, name };
    },
    deleteSession: ({ params, query }, { principal }) => sessionsOf(principal).remove(params.id, query.if),
    cleanupSession: async ({ params }, { principal }) => {
      await sessionsOf(principal).remove(params.id, "exited");
      return { success: true, status: "removed" };
    },
    cleanupExited: async (_, { principal }) => cleanUpExited(sessionsOf(principal), parts.remotes?.() ?? []),
    ...commandRoutes(parts),
    ...viewRoutes(parts),
  };
}

/** Whether this server starts new sessions of its own. A property, not a getter: each new session reads it. */
export type CordonState = { readonly machine: string; readonly isCordoned: boolean };

function cordoned(machine: string): ServiceError {
  const message = `${machine} is cordoned and starts no new sessions: choose another machine, or ask an operator for \`ttyhq uncordon\``;
  return new ServiceError("cordoned", message, { details: { machine } });
}

export type SessionRouteParts = {
  readonly sessionsOf: (principal: Context["principal"]) => SessionBackend;
  readonly ownRequest: (request: CreateSession, principal: Context["principal"]) => CreateSession;
  readonly hub: Pick<Hub, "viewersOf" | "position">;
  /** Names of an HQ's remotes, which refuse sessions themselves. */
  readonly remotes?: (() => readonly string[]) | undefined;
  readonly cordon?: CordonState | undefined;
};

function commandRoutes({ sessionsOf }: SessionRouteParts): Routes {
  return {
    inputSession: async ({ params, body }, { principal }) => {
      await sessionsOf(principal).write(params.id, inputBytes(body));
      return { success: true };
    },
    resizeSession: async ({ params, body }, { principal }) => {
      await sessionsOf(principal).resize(params.id, body);
      return { success: true, ...body };
    },
    killSession: async ({ params, body }, { principal }) => {
      await sessionsOf(principal).kill(params.id, body.signal);
      return { success: true };
    },
    markSession: async ({ params, body }, { principal }) => {
      await sessionsOf(principal).mark(params.id, body.label);
      return { success: true };
    },
  };
}

function viewRoutes({ sessionsOf }: SessionRouteParts): Routes {
  const view = (id: string, what: View, { principal, signal }: Context): Promise<Content> =>
    sessionsOf(principal).view(id, what, signal);
  return {
    sessionText: ({ params, query }, context) => view(params.id, { kind: "text", ...query }, context),
    sessionBuffer: ({ params }, context) => view(params.id, { kind: "buffer" }, context),
    sessionResync: ({ params, query }, context) =>
      view(params.id, { kind: "resync", isScreenOnly: query.scrollback === "0" }, context),
    sessionRecording: ({ params, query }, context) =>
      view(params.id, { kind: "recording", follow: query.follow === "1" }, context),
    sessionStream: async ({ params, query }, context) => {
      const after = Number.parseInt(context.lastEventId ?? "", 10) || (query.after ?? 0);
      const content = await view(params.id, { kind: "stream", after: Math.max(0, after) }, context);
      return {
        ...content,
        headers: { ...content.headers, "cache-control": "no-cache", "x-accel-buffering": "no" },
      };
    },
    sessionOutput: async ({ params, query }, context) => {
      const { outputBytes } = await sessionsOf(context.principal).get(params.id);
      return await outputPart(query, outputBytes, context.range, (from, to) =>
        view(params.id, { kind: "output", from, to }, context),
      );
    },
    sessionEvents: ({ params, query }, context) =>
      view(params.id, { kind: "events", from: query.from }, context),
  };
}

async function outputPart(
  { from: first, to: end }: { readonly from: number; readonly to?: number | undefined },
  outputBytes: number,
  range: string | undefined,
  open: (from: number, to: number) => Promise<Content>,
): Promise<Media> {
  if (first > outputBytes) {
    const details = { length: outputBytes };
    throw new ServiceError("range_not_satisfiable", `there are ${outputBytes} bytes of output`, { details });
  }
  const length = Math.max(0, Math.min(end ?? outputBytes, outputBytes) - first);
  const part = readRange(range, length);
  const from = first + (part?.start ?? 0);
  const to = first + (part?.end ?? length);
  const content = await open(from, to);
  const headers = { ...content.headers, "accept-ranges": "bytes" };
  if (part === undefined) return { ...content, headers };
  // Fewer bytes may be stored than requested.
  const last = part.start + (content.length ?? to - from) - 1;
  const contentRange = `bytes ${part.start}-${last}/${length}`;
  return { ...content, status: 206, headers: { ...headers, "content-range": contentRange } };
}

function inputBytes({ text, key, data }: Input): Uint8Array {
  if (key !== undefined) return inputKey(key);
  if (data !== undefined) return Buffer.from(data, "base64");
  return new TextEncoder().encode(text ?? "");
}

/** `end`: exclusive. */
type ByteRange = { readonly start: number; readonly end: number };

const SINGLE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part of `length` bytes that a Range header selects (RFC 9110, 14.2); undefined without one, and for other units and
 * several ranges. ServiceError `range_not_satisfiable`.
 */
export function readRange(header: string | undefined, length: number): ByteRange | undefined {
  const [, first = "", last = ""] = SINGLE_RANGE.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return check(Math.max(0, length - Number(last)), length, length);
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return check(Number(first), last === "" ? length : Math.min(length, Number(last) + 1), length);
}

function check(start: number, end: number, length: number): ByteRange {
  if (start < end) return { start, end };
  throw new ServiceError("range_not_satisfiable", `there are ${length} bytes`, { details: { length } });
}
