import { KeyedMutex } from "../../lib/async/mutex.ts";
import type { Caller } from "../../protocol/client/caller.ts";
import type { Link, LinkHandlers } from "../../protocol/client/link.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { isUnreachable, ServiceError } from "../../protocol/errors.ts";
import type { CreateSession, Removal, SessionRecord, TerminalSize } from "../../protocol/schemas/session.ts";
import { AnySession } from "./session-record.ts";
import { SpecifiedLink, type SpecifiedSessions } from "./specified-link.ts";

const createSession = { ...endpoints.createSession, reply: { status: 200, json: AnySession } } as const;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type SpecifiedRemoteParts = {
  readonly caller: Caller;
  readonly socket: Pick<SessionSocket, "write" | "resize" | "caughtUp">;
  readonly sessions: SpecifiedSessions;
};

/** Requests that differ for a server that implements only the specification. */
export class SpecifiedRemote {
  readonly #parts: SpecifiedRemoteParts;
  /** By session id: the last known size, and the size in the record at that time. */
  readonly #sizes = new Map<string, { readonly size: TerminalSize; recorded?: TerminalSize }>();
  #link: SpecifiedLink | undefined;
  readonly #mutex = new KeyedMutex();
  /** The transport of input and sizes, detected by the first one. Messages are preferred: REST calls may be rate-limited. */
  #way: Promise<"socket" | "rest"> | undefined;

  constructor(parts: SpecifiedRemoteParts) {
    this.#parts = parts;
  }

  async open(open: (handlers: LinkHandlers) => Promise<Link>, handlers: LinkHandlers): Promise<Link> {
    this.#link = await SpecifiedLink.open(open, handlers, {
      sessions: this.#parts.sessions,
      arrived: () => this.#parts.socket.caughtUp(),
      onResized: (id, size) => this.#resized(id, size),
    });
    return this.#link;
  }

  /** The record with the last known size, unless its own size has changed since: servers need not update it. */
  sized(record: SessionRecord): SessionRecord {
    const { cols, rows } = record;
    const known = this.#sizes.get(record.id);
    if (known === undefined) return record;
    known.recorded ??= { cols, rows };
    if (known.recorded.cols === cols && known.recorded.rows === rows) return { ...record, ...known.size };
    this.#sizes.delete(record.id);
    return record;
  }

  forget(id: string): void {
    this.#sizes.delete(id);
  }

  /**
   * The answer may have only the id. Throws `forbidden` for a session with an owner: such a server would run it as its own
   * user, and only admins would see it.
   */
  async create({ owner, account: _, command, args = [], ...request }: CreateSession): Promise<SessionRecord> {
    if (owner !== undefined) {
      throw new ServiceError(
        "forbidden",
        "this remote does not support owners of sessions: only the HQ's own user can create sessions on it",
      );
    }
    const isLine = typeof command === "string" && args.length === 0 && command.includes(" ");
    const words = isLine
      ? ["sh", "-lc", command]
      : typeof command === "string"
        ? [command, ...args]
        : command;
    const cwd = request.cwd ?? request.workingDir;
    const places = cwd === undefined ? {} : { cwd, workingDir: cwd };
    const body = { ...request, ...places, ...(words === undefined ? {} : { command: words }) };
    const { id } = await this.#parts.caller.call(createSession, { body });
    const { cols, rows } = request;
    this.#resized(id, { cols, rows });
    return await this.#parts.sessions.get(id);
  }

  /** The answer does not tell whether the session was ended or removed. */
  async remove(id: string): Promise<Removal> {
    await this.#parts.caller.bytes(endpoints.deleteSession, { params: { id } });
    try {
      const { exitCode } = await this.#parts.sessions.get(id);
      return { success: true, status: "exited", ...(exitCode === undefined ? {} : { exitCode }) };
    } catch (error) {
      if (error instanceof ServiceError && error.status === 404) return { success: true, status: "removed" };
      throw error;
    }
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#command(id, async () => {
      if ((await this.#wayOf(id)) === "socket") return await this.#parts.socket.write(id, input);
      const text = textOf(input);
      const body = { params: { id }, body: { text } };
      await this.#mutex.take(id, () => this.#parts.caller.bytes(endpoints.inputSession, body));
    });
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#command(id, async () => {
      const body = { params: { id }, body: size };
      if ((await this.#wayOf(id)) === "socket") await this.#parts.socket.resize(id, size);
      else await this.#mutex.take(id, () => this.#parts.caller.bytes(endpoints.resizeSession, body));
      this.#resized(id, size);
    });
  }

  #resized(id: string, size: TerminalSize): void {
    this.#sizes.set(id, { size });
    this.#link?.resized(id, size);
  }

  /** The server may answer any error for an ended session; its record decides. */
  async #command(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (isUnreachable(cause) || (await this.#parts.sessions.get(id)).status !== "exited") throw cause;
      throw new ServiceError("session_not_running", `session ${id} has ended`, { cause });
    }
  }

  #wayOf(id: string): Promise<"socket" | "rest"> {
    this.#way ??= this.#probe(id).catch((error: unknown) => {
      this.#way = undefined;
      throw error;
    });
    return this.#way;
  }

  /** Sends empty input: it has no effect, and is refused where all input is. */
  async #probe(id: string): Promise<"socket" | "rest"> {
    try {
      await this.#parts.socket.write(id, new Uint8Array());
      return "socket";
    } catch (error) {
      if (isUnreachable(error) || (await this.#parts.sessions.get(id)).status !== "running") throw error;
      return "rest";
    }
  }
}

function textOf(input: Uint8Array): string {
  try {
    return decoder.decode(input);
  } catch (cause) {
    throw new ServiceError("invalid_request", "this remote takes only UTF-8 text as input", { cause });
  }
}
