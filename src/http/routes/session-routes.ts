import { inputKey } from "../../hub/request.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Input, SessionRecord } from "../../protocol/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import { readRange } from "../range.ts";
import type { Routes } from "../route.ts";
import { SessionListJson } from "../session-list.ts";

/** Sessions over REST (contract 2), for any backend. `viewersOf`: subscriptions in this process. */
export function sessionRoutes(parts: {
  readonly backend: SessionBackend;
  readonly viewersOf: (sessionId: string) => number;
}): Routes {
  const { backend, viewersOf } = parts;
  const seen = (record: SessionRecord): SessionRecord => ({ ...record, viewers: viewersOf(record.id) });
  const listJson = new SessionListJson();
  return {
    listSessions: async () => listJson.of(await backend.list(), viewersOf),
    createSession: async ({ body }) => seen(await backend.create(body)),
    getSession: async ({ params }) => seen(await backend.get(params.id)),
    renameSession: async ({ params, body }) => {
      const { name } = await backend.rename(params.id, body.name);
      return { success: true, name };
    },
    deleteSession: ({ params }) => backend.remove(params.id),
    cleanupSession: async ({ params }) => {
      await removeEnded(backend, await backend.get(params.id));
      return { success: true, status: "removed" };
    },
    cleanupExited: async () => cleanUp(backend),
    ...commandRoutes(backend),
    ...viewRoutes(backend),
  };
}

function commandRoutes(backend: SessionBackend): Routes {
  return {
    inputSession: async ({ params, body }) => {
      await backend.write(params.id, inputBytes(body));
      return { success: true };
    },
    resizeSession: async ({ params, body }) => {
      await backend.resize(params.id, body);
      return { success: true, ...body };
    },
    killSession: async ({ params, body }) => {
      await backend.kill(params.id, body.signal);
      return { success: true };
    },
    markSession: async ({ params, body }) => {
      await backend.mark(params.id, body.label);
      return { success: true };
    },
  };
}

function viewRoutes(backend: SessionBackend): Routes {
  return {
    sessionText: ({ params, query }, { signal }) =>
      backend.view(params.id, { kind: "text", ...query }, signal),
    sessionBuffer: ({ params }, { signal }) => backend.view(params.id, { kind: "buffer" }, signal),
    sessionResync: ({ params }, { signal }) => backend.view(params.id, { kind: "resync" }, signal),
    sessionRecording: ({ params, query }, { signal }) =>
      backend.view(params.id, { kind: "recording", follow: query.follow === "1" }, signal),
    sessionStream: async ({ params, query }, { signal, lastEventId }) => {
      const after = Number.parseInt(lastEventId ?? "", 10) || (query.after ?? 0);
      const content = await backend.view(params.id, { kind: "stream", after: Math.max(0, after) }, signal);
      return {
        ...content,
        headers: { ...content.headers, "cache-control": "no-cache", "x-accel-buffering": "no" },
      };
    },
    sessionOutput: async ({ params, query }, { range, signal }) => {
      const { outputBytes } = await backend.get(params.id);
      const stretch = stretchOf(query, outputBytes);
      const part = readRange(range, stretch.to - stretch.from);
      const from = stretch.from + (part?.start ?? 0);
      const to = part === undefined ? stretch.to : stretch.from + part.end;
      const content = await backend.view(params.id, { kind: "output", from, to }, signal);
      const headers = { ...content.headers, "accept-ranges": "bytes" };
      if (part === undefined) return { ...content, headers };
      // Less may be held than was asked for.
      const last = part.start + (content.length ?? to - from) - 1;
      const contentRange = `bytes ${part.start}-${last}/${stretch.to - stretch.from}`;
      return { ...content, status: 206, headers: { ...headers, "content-range": contentRange } };
    },
    sessionEvents: ({ params, query }, { signal }) =>
      backend.view(params.id, { kind: "events", from: query.from }, signal),
  };
}

/** The part of the output that a query names. Throws `range_not_satisfiable` for one that begins after the end. */
function stretchOf(
  query: { readonly from: number; readonly to?: number | undefined },
  outputBytes: number,
): { readonly from: number; readonly to: number } {
  if (query.from <= outputBytes) {
    return { from: query.from, to: Math.max(query.from, Math.min(query.to ?? outputBytes, outputBytes)) };
  }
  throw new ServiceError("range_not_satisfiable", `there are ${outputBytes} bytes of output`, {
    details: { length: outputBytes },
  });
}

function inputBytes({ text, key, data }: Input): Uint8Array {
  if (key !== undefined) return inputKey(key);
  if (data !== undefined) return Buffer.from(data, "base64");
  return new TextEncoder().encode(text ?? "");
}

async function removeEnded(backend: SessionBackend, record: SessionRecord): Promise<void> {
  if (record.status !== "exited") {
    throw new ServiceError("session_running", `session ${record.id} is running: end it first`);
  }
  await backend.remove(record.id);
}

async function cleanUp(backend: SessionBackend): Promise<{
  success: true;
  message: string;
  localCleaned: number;
  cleanedSessions: string[];
}> {
  const cleanedSessions: string[] = [];
  for (const record of await backend.list()) {
    if (record.status === "exited" && (await wasRemoved(backend, record.id))) cleanedSessions.push(record.id);
  }
  const message = `${cleanedSessions.length} exited sessions cleaned up across all servers`;
  return { success: true, message, localCleaned: cleanedSessions.length, cleanedSessions };
}

/** False when somebody else was faster. */
async function wasRemoved(backend: SessionBackend, id: string): Promise<boolean> {
  try {
    await backend.remove(id);
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "session_not_found") return false;
    throw error;
  }
}
