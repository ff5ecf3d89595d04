import { ServiceError } from "./errors.ts";
import { MAX_PENDING_COMMANDS } from "./limits.ts";

/** A frame that the server answers by an ERROR or, in that it answers a later PING, by nothing. */
export type PendingCommand = {
  readonly sessionId: string;
  /** A SUBSCRIBE: to be answered by SUBSCRIBED, and the first to be meant by an ERROR. */
  readonly isSubscribe: boolean;
  readonly done: () => void;
  readonly failed: (error: ServiceError) => void;
};

type Group = { readonly ping: number; readonly commands: Set<PendingCommand> };

/**
 * Which frames of a connection still wait for their outcome. The server handles frames in order, so a PONG says that
 * everything before its PING was dealt with, and an ERROR belongs to the group of frames whose PONG is the next one.
 * At most MAX_PENDING_COMMANDS wait; one more is refused.
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

  /** A PING was sent: what was added before it is settled by the PONG with the same number. */
  seal(ping: number): void {
    if (this.#open.size === 0) return;
    this.#groups.push({ ping, commands: this.#open });
    this.#open = new Set();
  }

  answered(ping: number): void {
    const last = this.#groups.findIndex((group) => group.ping === ping);
    for (const group of this.#groups.splice(0, last + 1)) {
      this.#size -= group.commands.size;
      for (const command of group.commands) {
        if (command.isSubscribe) command.failed(unanswered(command.sessionId));
        else command.done();
      }
    }
  }

  get hasUnsealed(): boolean {
    return this.#open.size > 0;
  }

  /** The oldest SUBSCRIBE of that session succeeded: true if no later one is on its way. */
  subscribed(sessionId: string): boolean {
    let isTaken = false;
    for (const commands of this.#all()) {
      for (const command of commands) {
        if (!command.isSubscribe || command.sessionId !== sessionId) continue;
        if (isTaken) return false;
        this.#take(commands, command);
        command.done();
        isTaken = true;
      }
    }
    return isTaken;
  }

  /**
   * An ERROR that names the session: true if a command was meant. Within a group that is its SUBSCRIBE, else the newest
   * command: a session that ended while they were on their way refuses the last ones.
   */
  failed(sessionId: string, error: ServiceError): boolean {
    const commands = this.#groups[0]?.commands ?? this.#open;
    const own = [...commands].filter((command) => command.sessionId === sessionId);
    const meant = own.find((command) => command.isSubscribe) ?? own.at(-1);
    if (meant === undefined) return false;
    this.#take(commands, meant);
    meant.failed(error);
    return true;
  }

  /** The connection is gone, and with it every answer. */
  lost(error: ServiceError): void {
    const all = [...this.#all()].flatMap((commands) => [...commands]);
    this.#open = new Set();
    this.#groups.length = 0;
    this.#size = 0;
    for (const command of all) command.failed(error);
  }

  #take(commands: Set<PendingCommand>, command: PendingCommand): void {
    commands.delete(command);
    this.#size -= 1;
  }

  *#all(): Generator<Set<PendingCommand>> {
    for (const group of this.#groups) yield group.commands;
    yield this.#open;
  }
}

function unanswered(sessionId: string): ServiceError {
  const message = `the server did not answer the SUBSCRIBE of session ${sessionId}: it does not know offsets`;
  return new ServiceError("unknown_type", message);
}
