import { ServiceError } from "../errors.ts";
import type { Send } from "./send.ts";

/** Sends requests with fetch. `token` is called for each request, so that it may change. */
export function fetchSend(options: {
  /** Scheme, host and port, without a slash at the end; "" for the page's own server. */
  readonly origin: string;
  readonly token: () => string | undefined;
}): Send {
  return async ({ method, path, headers, body, signal }) => {
    const token = options.token();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const init = { method, headers: { ...headers, ...authorization }, signal, body: body ?? null };
    const response = await fetch(`${options.origin}${path}`, init).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new ServiceError("host_unreachable", `no answer from ${options.origin || "the server"}`, {
        cause,
      });
    });
    return { status: response.status, headers: new Map(response.headers), body: chunks(response) };
  };
}

// With a reader, because not all browsers can iterate over streams.
async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
