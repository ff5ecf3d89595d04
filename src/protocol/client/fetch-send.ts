import { ServiceError } from "../errors.ts";
import type { Send } from "./send.ts";

/**
 * Requests by the platform's own fetch: in the page, and from the command line to another machine. `token` is asked
 * for each request, so that it may change.
 */
export function fetchSend(options: {
  /** Scheme, host and port, without a slash at the end; "" in a page, for the server that it came from. */
  readonly origin: string;
  readonly token: () => string | undefined;
}): Send {
  return async ({ method, path, headers, body, signal }) => {
    const token = options.token();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const init = { method, headers: { ...headers, ...authorization }, signal, body: body ?? null };
    const response = await reach(options.origin, path, init);
    return {
      status: response.status,
      headers: new Map(response.headers),
      body: chunks(response),
    };
  };
}

async function reach(origin: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${origin}${path}`, init);
  } catch (cause) {
    init.signal?.throwIfAborted();
    throw unreachable(origin, cause);
  }
}

function unreachable(origin: string, cause: unknown): ServiceError {
  return new ServiceError("host_unreachable", `no answer from ${origin || "the server"}`, { cause });
}

// By a reader, because not every browser's streams can be iterated.
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
