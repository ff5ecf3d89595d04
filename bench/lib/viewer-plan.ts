/** How a viewer opens a session of a server: data, because viewers run in a separate process. */
export type ViewerPlan = {
  readonly port: number;
  /** Of the WebSocket, with its query. */
  readonly path: string;
  readonly speech: Speech;
  /** A POST that creates the session, before the connection. */
  readonly create?: { readonly path: string; readonly body: string };
  /** Whether this viewer joins after the first line, on a server without history. */
  readonly isLate: boolean;
};

/** The protocol on the socket. */
export type Speech =
  /** Every message is raw output or input. */
  | { readonly kind: "raw" }
  /** ttyd: the first byte of a message is its type; a JSON message starts the program. */
  | { readonly kind: "ttyd" }
  /** ttyhq: v3 frames with offsets, output from byte `from` on. */
  | { readonly kind: "v3"; readonly sessionId: string; readonly from: number };
