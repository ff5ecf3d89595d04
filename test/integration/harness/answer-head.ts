import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * The head of the answer, its body still to be read. Rejects where there is none. Of a connection that breaks after it the
 * body tells whoever reads it: node:http tells the request as well, where nobody waits any more.
 */
export async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  outgoing.on("error", () => undefined);
  const [response]: IncomingMessage[] = await once(outgoing, "response");
  if (response === undefined) throw new Error("no response");
  return response;
}
