import { ServiceError } from "../errors.ts";
import { MAX_PENDING_COMMANDS } from "../limits.ts";

/** A frame that the server answers by an ERROR or, in that it answers a later PING, by nothing. */
export type PendingCommand = {
  /** "" for what no ERROR can be about. */
  readonly sessionId: string;
  readonly done: () => void;
  readonly failed: (error: ServiceError) => void;
};

type Group = { readonly ping: number; readonly commands: Set<PendingCommand> };

/**
 * Which frames of a connection still wait for their outcome. The server handles frames in order, so a PONG says that
 * everything before its PING was dealt with, its ERROR sent if there is one. At most MAX_PENDING_COMMANDS wait; one
 * more is refused.
 */
export class PendingCommands {
  /** Sent, no PING after them yet. */
  #open = new Set<PendingCommand>();
  readonly #groups: Group[] = [];
  #size = 0;

  /** Throws `host_unreachable` when too many wait. */
  checkRoom(): void {
    if (this.#size < MAX_PENDING_COMMANDS) return;
    throw new ServiceError("host_unreachable", `${this.#size} commands wait for an answer already`);
  }

  add(command: PendingCommand): void {
    this.#open.add(command);
    this.#size += 1;
  }

  get hasUnsealed(): boolean {
    return this.#open.size > 0;
  }

  get isWaiting(): boolean {
    return this.#size > 0;
  }

  /** A PING was sent: what was added before it is settled by the PONG with the same number. */
  seal(ping: number): void {
    this.#groups.push({ ping, commands: this.#open });
    this.#open = new Set();
  }

  answered(ping: number): void {
    const last = this.#groups.findIndex((group) => group.ping === ping);
    for (const { commands } of this.#groups.splice(0, last + 1)) {
      this.#size -= commands.size;
      for (const command of commands) command.done();
    }
  }

  /**
   * An ERROR that names the session: true if a command was meant. It is looked for in the oldest group that has any for
   * the session, and is the newest there: a session that ends while they are on their way refuses the last ones.
   */
  failed(sessionId: string, error: ServiceError): boolean {
    for (const commands of this.#all()) {
      const meant = [...commands].findLast((command) => command.sessionId === sessionId);
      if (meant === undefined) continue;
      commands.delete(meant);
      this.#size -= 1;
      meant.failed(error);
      return true;
    }
    return false;
  }

  /** The connection is gone, and with it every answer. */
  lost(error: ServiceError): void {
    const all = [...this.#all()].flatMap((commands) => [...commands]);
    this.#open = new Set();
    this.#groups.length = 0;
    this.#size = 0;
    for (const command of all) command.failed(error);
  }

  *#all(): Generator<Set<PendingCommand>> {
    for (const group of this.#groups) yield group.commands;
    yield this.#open;
  }
}
