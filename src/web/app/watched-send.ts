import type { Send } from "../../protocol/client/send.ts";

const UNAUTHORIZED = 401;

/** Passes requests on, and tells when the server does not take what lets them in any more; `undefined`: no token. */
export function watchedSend(
  send: Send,
  token: () => string | undefined,
  onRefused: (token: string | undefined) => void,
): Send {
  return async (request) => {
    const used = token();
    const response = await send(request);
    if (response.status === UNAUTHORIZED) onRefused(used);
    return response;
  };
}
