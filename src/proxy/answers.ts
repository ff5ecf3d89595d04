import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** How errors are told to programs: as the server itself does, who hands it in. */
export type Answers = {
  readonly error: (response: ServerResponse, error: unknown) => void;
  /** Where a WebSocket was asked for; closes the connection. */
  readonly refuse: (socket: Duplex, error: unknown) => void;
};

/** Where a request came from, and under which name, as the server itself sees it. */
export type Client = { readonly address: string | undefined; readonly host: string | undefined };
