import type { Send } from "../protocol/client/send.ts";
import { ServiceError } from "../protocol/errors.ts";
import { createSender } from "../remote/send.ts";

/**
 * Requests over unix sockets, tried in order: the next one only where nobody listens on one, so that no request is
 * made twice. Rejects as `isNobodyThere` says where nobody listens on any.
 */
export function socketSend(socketPaths: readonly string[]): Send {
  // They are not disposed: idle connections do not keep the process, which ends with the command.
  const senders = socketPaths.map((socketPath) => createSender({ socketPath }));
  return async (request) => {
    for (const { send } of senders.slice(0, -1)) {
      try {
        return await send(request);
      } catch (error) {
        if (!isNobodyThere(error)) throw error;
      }
    }
    const last = senders.at(-1);
    if (last === undefined) throw new ServiceError("host_unreachable", "no socket to ask on");
    return await last.send(request);
  };
}

/** Whether a request failed because nobody listens there. */
export function isNobodyThere(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== "host_unreachable") return false;
  const { cause } = error;
  return (
    cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ECONNREFUSED")
  );
}
