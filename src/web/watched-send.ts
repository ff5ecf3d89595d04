import type { Send } from "../protocol/send.ts";

const UNAUTHORIZED = 401;

/** Passes requests on, and tells of a token that the server does not take any more. */
export function watchedSend(
  send: Send,
  token: () => string | undefined,
  onRefused: (token: string) => void,
): Send {
  return async (request) => {
    const used = token();
    const response = await send(request);
    if (response.status === UNAUTHORIZED && used !== undefined) onRefused(used);
    return response;
  };
}
