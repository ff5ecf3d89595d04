import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { ViewerKind } from "../../protocol/schemas/viewer.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { AuditHook } from "../requests.ts";

export type HubView = {
  readonly sessions: SessionBackend;
  /** An event as the client may see it; `undefined`: not at all. */
  readonly shown: (event: ServerEvent) => ServerEvent | undefined;
  /** The client may not see output before this offset; `undefined`: it may see all. */
  readonly historyFrom?: number | undefined;
  /** The client may not see anything about a session's repository. */
  readonly isRepositoryHidden?: boolean | undefined;
  /** The types of frames that the client may not send, each with the reason. */
  readonly refusals?: Pick<ReadonlyMap<number, string>, "get"> | undefined;
  readonly auditHook?: AuditHook;
};

/** Who is connected, as in GET /api/clients. `shareId`: of a guest. */
export type ViewerIdentity = {
  readonly id: number;
  readonly user: string;
  readonly address: string | undefined;
  readonly kind: ViewerKind;
  readonly shareId?: string | undefined;
  readonly connectedAt: string;
};
