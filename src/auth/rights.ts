import type { ShareMode } from "../protocol/share.ts";

/** What of the sessions somebody may see and touch (contract 5.7). */
export type Rights =
  /** Everything: the server's own user, an HQ, whoever holds the private socket, everyone where nobody logs in. */
  | { readonly kind: "all" }
  /** The sessions that this user owns. */
  | { readonly kind: "own" }
  /** Of a remote with its own credential: to register, refresh and unregister itself. */
  | { readonly kind: "remote"; readonly id: string; readonly name: string }
  /** One session, by a share link. `created` tells it from a later one of the same id. */
  | {
      readonly kind: "invited";
      readonly session: { readonly id: string; readonly created: string };
      readonly mode: ShareMode;
      /** Output before this offset is not for them; `undefined`: they have all of it. */
      readonly from?: number | undefined;
    };

export const ALL: Rights = { kind: "all" };
export const OWN: Rights = { kind: "own" };
