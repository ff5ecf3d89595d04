import type { Caller } from "../protocol/client/caller.ts";
import type { ClientResponse } from "../protocol/client/send.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import type { View } from "../sessions/backend.ts";

/** Asks another process for a view of a session; the body comes as it is made. */
export function viewRequest(
  caller: Caller,
  id: string,
  view: View,
  signal: AbortSignal,
): Promise<ClientResponse> {
  const params = { id };
  switch (view.kind) {
    case "text": {
      const query = { scrollback: view.scrollback ? "1" : "0", styles: view.styles ? "1" : "0" };
      return caller.stream(endpoints.sessionText, { params, query }, signal);
    }
    case "buffer":
      return caller.stream(endpoints.sessionBuffer, { params }, signal);
    case "resync":
      return caller.stream(
        endpoints.sessionResync,
        { params, ...(view.isScreenOnly === true ? { query: { scrollback: "0" } } : {}) },
        signal,
      );
    case "recording":
      return caller.stream(
        endpoints.sessionRecording,
        { params, query: { follow: view.follow ? "1" : "0" } },
        signal,
      );
    case "stream":
      return caller.stream(endpoints.sessionStream, { params, query: { after: view.after } }, signal);
    case "output":
      return caller.stream(
        endpoints.sessionOutput,
        { params, query: { from: view.from, to: view.to } },
        signal,
      );
    case "events":
      return caller.stream(endpoints.sessionEvents, { params, query: { from: view.from } }, signal);
  }
}
