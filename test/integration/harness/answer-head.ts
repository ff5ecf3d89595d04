import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * The head of the answer; the body is still unread. Rejects without one. If the connection breaks later, only the
 * reader of the body learns of it: node:http would also report it on the request, where nobody listens any more.
 */
export async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  outgoing.on("error", () => undefined);
  const [response]: IncomingMessage[] = await once(outgoing, "response");
  if (response === undefined) throw new Error("no response");
  return response;
}
