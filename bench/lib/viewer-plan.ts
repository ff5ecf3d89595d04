/** How somebody comes to see a session of some server: data, because viewers live in a process of their own. */
export type ViewerPlan = {
  readonly port: number;
  /** Of the WebSocket, with its query. */
  readonly path: string;
  readonly speech: Speech;
  /** A POST that makes the session; done before the connection. */
  readonly create?: { readonly path: string; readonly body: string };
  /** Whether this viewer comes to a session whose first line is gone, on a server that keeps no history. */
  readonly isLate: boolean;
};

/** What is said on the socket. */
export type Speech =
  /** Every message is output or input, nothing else. */
  | { readonly kind: "raw" }
  /** ttyd: the first byte of a message tells its type; a JSON message starts the program. */
  | { readonly kind: "ttyd" }
  /** ttyhq: v3 frames with offsets, output from byte `from` on. */
  | { readonly kind: "v3"; readonly sessionId: string; readonly from: number };
