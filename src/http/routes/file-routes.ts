import { ServiceError } from "../../protocol/errors.ts";
import { UPLOAD_STALL_MS } from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Context, Routes } from "../route.ts";

type FileRouteParts = {
  readonly sessionsOf: (principal: Context["principal"]) => Pick<SessionBackend, "saveFile" | "openFile">;
  /** Of one file; 0: there is no file transfer. */
  readonly maxUploadBytes: number;
};

/** Files to and from sessions. The bytes pass through; a process of the session's user opens the files. */
export function fileRoutes({ sessionsOf, maxUploadBytes }: FileRouteParts): Routes {
  const checkIsOn = (): void => {
    if (maxUploadBytes > 0) return;
    throw new ServiceError("forbidden", "file transfer is off on this server: its --max-upload is 0");
  };
  return {
    uploadFile: async ({ params: { id }, query: { name } }, { principal, upload, signal }) => {
      checkIsOn();
      if (upload === undefined) throw new ServiceError("invalid_request", "send the file as the body");
      const tooLarge = (): ServiceError => {
        const message = `${name} is too large: a file has at most ${maxUploadBytes} bytes here (--max-upload)`;
        return new ServiceError("body_too_large", message, { details: { maxUploadBytes } });
      };
      if (upload.length > maxUploadBytes) throw tooLarge();
      return await unlessStalled(name, signal, async (progress, either) => {
        const body = atMost(maxUploadBytes, upload.body, { progress, tooLarge });
        return await sessionsOf(principal).saveFile(id, { name, body }, either);
      });
    },
    downloadFile: async ({ params: { id }, query: { path } }, { principal, signal }) => {
      checkIsOn();
      return await sessionsOf(principal).openFile(id, path, signal);
    },
  };
}

/** `progress`: called before and after each piece. Throws `tooLarge` above the limit, and when the client has gone. */
async function* atMost(
  maxBytes: number,
  body: AsyncIterable<Uint8Array>,
  { progress, tooLarge }: { readonly progress: () => void; readonly tooLarge: () => ServiceError },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge();
    progress();
    yield piece;
    progress();
  }
}

/** Aborts the work when nothing has moved for UPLOAD_STALL_MS: the client, a network in between or the disk stands still. */
async function unlessStalled<T>(
  name: string,
  signal: AbortSignal,
  work: (progress: () => void, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stalled = new AbortController();
  const timer = setTimeout(() => {
    const message = `${name} did not arrive: nothing moved for ${UPLOAD_STALL_MS / 1_000} s; send it again`;
    stalled.abort(new ServiceError("request_timeout", message));
  }, UPLOAD_STALL_MS);
  try {
    return await work(() => void timer.refresh(), AbortSignal.any([signal, stalled.signal]));
  } finally {
    clearTimeout(timer);
  }
}
