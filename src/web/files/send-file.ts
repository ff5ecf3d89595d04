import { endpointPath } from "../../protocol/endpoints/endpoint.ts";
import { sessionEndpoints } from "../../protocol/endpoints/session.ts";
import { errorFromBody, ServiceError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { SavedFile } from "../../protocol/schemas/file.ts";

export type FileToSend = {
  readonly sessionId: string;
  readonly file: File;
  /** Bytes sent. */
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
};

const UNAUTHORIZED = 401;

/**
 * Sends a file to a session, by XMLHttpRequest because fetch does not report progress. Rejects with the server's error,
 * or the signal's reason.
 */
export async function sendFile(
  { sessionId, file, onProgress, signal }: FileToSend,
  { token, onRefused }: { readonly token: string | undefined; readonly onRefused: () => void },
): Promise<SavedFile> {
  const request = new XMLHttpRequest();
  const ended = Promise.withResolvers<void>();
  const path = endpointPath(sessionEndpoints.uploadFile, { id: sessionId });
  request.open("POST", `${path}?${new URLSearchParams({ name: file.name })}`);
  if (token !== undefined) request.setRequestHeader("authorization", `Bearer ${token}`);
  request.upload.onprogress = ({ loaded }) => onProgress(loaded);
  request.onload = () => ended.resolve();
  request.onerror = () => ended.reject(brokenOff());
  const abort = (): void => {
    request.abort();
    ended.reject(signal.reason);
  };
  signal.addEventListener("abort", abort, { once: true });
  request.send(file);
  try {
    await ended.promise;
  } finally {
    signal.removeEventListener("abort", abort);
  }
  const answer = parseJson(request.responseText);
  if (request.status === UNAUTHORIZED) onRefused();
  if (request.status === 201) return SavedFile.parse(answer);
  throw errorFromBody(answer, "host_unreachable", refusal(request.status));
}

/** The message for an answer that did not come from the server. */
function refusal(status: number): string {
  if (status === 413) return "a proxy in front of the server refuses files of this size; raise its limit";
  return `a proxy in front of the server answered with status ${status}`;
}

/** Browsers give no details. */
function brokenOff(): ServiceError {
  const message = "the connection broke off, or the file cannot be read; send it again";
  return new ServiceError("host_unreachable", message);
}
