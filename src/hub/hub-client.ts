import type { ViewerKind } from "../protocol/schemas/viewer.ts";
import type { Viewer } from "./viewer/viewer.ts";

/** A connected client, as in GET /api/clients. */
export type HubClient = {
  readonly id: number;
  readonly user: string;
  readonly address: string | undefined;
  readonly kind: ViewerKind;
  /** Of a guest. */
  readonly shareId?: string | undefined;
  readonly connectedAt: string;
  readonly viewer: Viewer;
};
