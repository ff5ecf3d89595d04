import type { Send } from "../protocol/client/send.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { SessionBackend } from "../sessions/backend.ts";

/** The sessions of another server, which may come back at another address and with another token: RemoteSessions. */
export type RemoteSessionBackend = SessionBackend & {
  readonly isConnected: boolean;
  /** Any request to that server. */
  readonly send: Send;
  retarget(target: UplinkTarget): void;
};
