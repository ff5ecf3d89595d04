// Views and files of a session in another process.
import { collectBytes } from "../lib/data/collect.ts";
import { readError, requestOf } from "../protocol/client/caller.ts";
import type { ClientResponse, Send } from "../protocol/client/send.ts";
import type { Endpoint } from "../protocol/endpoints/endpoint.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { parseJson } from "../protocol/json.ts";
import { SavedFile } from "../protocol/schemas/file.ts";
import type { Content, View } from "../sessions/backend.ts";

export const VIEW_ENDPOINTS: Readonly<Record<View["kind"], Endpoint>> = {
  text: endpoints.sessionText,
  buffer: endpoints.sessionBuffer,
  resync: endpoints.sessionResync,
  recording: endpoints.sessionRecording,
  stream: endpoints.sessionStream,
  output: endpoints.sessionOutput,
  events: endpoints.sessionEvents,
};

export function contentOf({ status, headers, body }: ClientResponse): Content {
  const length = headers.get("content-length");
  const disposition = headers.get("content-disposition");
  return {
    type: headers.get("content-type") ?? "application/octet-stream",
    ...(length === undefined || status === 204 ? {} : { length: Number(length) }),
    ...(disposition === undefined ? {} : { headers: { "content-disposition": disposition } }),
    body,
  };
}

export function viewQuery({ kind: _, ...view }: View): Record<string, unknown> {
  if ("follow" in view) return { follow: view.follow ? "1" : "0" };
  if ("styles" in view) return { scrollback: view.scrollback ? "1" : "0", styles: view.styles ? "1" : "0" };
  return "isScreenOnly" in view ? { scrollback: view.isScreenOnly ? "0" : "1" } : view;
}

const MAX_ANSWER_BYTES = 64 * 1024;

/** `send` adds the body. The caller limits the time of the upload. */
export async function sendFile(
  send: Send,
  { id, name }: { readonly id: string; readonly name: string },
  signal: AbortSignal,
): Promise<SavedFile> {
  const stop = new AbortController();
  try {
    const request = requestOf(endpoints.uploadFile, { params: { id }, query: { name } });
    const { status, body } = await send({ ...request, signal: AbortSignal.any([signal, stop.signal]) });
    if (status === 201) return SavedFile.parse(parseJson(await collectBytes(body, MAX_ANSWER_BYTES)));
    const fallback = status === 404 ? "not_found" : "host_unreachable";
    throw await readError(body, fallback, `it answered with status ${status}`);
  } catch (error) {
    // The rest of the body is not wanted.
    stop.abort(error);
    return withoutFiles(error);
  }
}

/** For `catch`: explains that the other process is too old. */
export function withoutFiles(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== "not_found") throw error;
  const message = "the machine's version has no file transfer: update it and start its session host again";
  throw new ServiceError("host_incompatible", message, { cause: error });
}
