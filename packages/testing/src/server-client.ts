import { type Client, createClient } from "../../../src/protocol/client/client.ts";
import type { CreateSessionBody } from "../../../src/protocol/schemas/session.ts";
import { createSender, type Sender } from "../../../src/remote/send.ts";
import { type Access, targetOf } from "./access.ts";
import type { TerminalLog } from "./failures/terminal-log.ts";
import { type AttachOptions, TerminalClient } from "./terminal-client.ts";

/** A server as one user sees it: its REST calls, and its sessions as terminals. */
export class ServerClient implements Disposable {
  /** The calls of the service by name; they reject with the server's ServiceError. */
  readonly api: Client;
  readonly access: Access;
  readonly #sender: Sender;
  readonly #shown: Pick<AttachOptions, "scene" | "log">;

  /** `scene`: added to the message of a failed wait, for example a log. `log`: keeps the terminals' screens. */
  constructor(
    access: Access,
    { scene = () => "", log }: { readonly scene?: () => string; readonly log?: TerminalLog } = {},
  ) {
    // One array for all connections, because caches of the parsed authority use its identity.
    const ca = typeof access.ca === "string" ? new TextEncoder().encode(access.ca) : access.ca;
    this.access = { ...access, ca };
    this.#sender = createSender(targetOf(this.access));
    this.#shown = log === undefined ? { scene } : { scene, log };
    this.api = createClient(this.#sender.send);
  }

  /** Shows an existing session. */
  attach(sessionId: string, options: AttachOptions = {}): Promise<TerminalClient> {
    return TerminalClient.attach(this.access, sessionId, { ...this.#shown, ...options });
  }

  /** Starts a session and shows it. At an HQ `remoteId` names its machine. */
  async run(session: CreateSessionBody, options: AttachOptions = {}): Promise<TerminalClient> {
    const { id } = await this.api.create(session);
    return this.attach(id, options);
  }

  [Symbol.dispose](): void {
    this.#sender[Symbol.dispose]();
  }
}
