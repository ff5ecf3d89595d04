// Sending a file on to another process.
import { collectBytes } from "../lib/data/collect.ts";
import { requestOf } from "../protocol/client/caller.ts";
import type { Send } from "../protocol/client/send.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { errorFromBody, ServiceError } from "../protocol/errors.ts";
import { parseJson } from "../protocol/json.ts";
import { SavedFile } from "../protocol/schemas/file.ts";

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
    const answer = parseJson(await collectBytes(body, MAX_ANSWER_BYTES));
    if (status === 201) return SavedFile.parse(answer);
    throw errorFromBody(
      answer,
      status === 404 ? "not_found" : "host_unreachable",
      `it answered with status ${status}`,
    );
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
