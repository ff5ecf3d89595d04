import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { Ownership } from "./ownership.ts";
import type { RemoteConnection } from "./remote-connection.ts";

/** The sessions of all machines as they are known here, put together once for each change. */
export class KnownSessions {
  readonly #members: () => readonly RemoteConnection[];
  readonly #owners: Ownership<RemoteConnection>;
  #records: readonly SessionRecord[] | undefined;
  #running: number | undefined;

  constructor(options: { members: () => readonly RemoteConnection[]; owners: Ownership<RemoteConnection> }) {
    this.#members = options.members;
    this.#owners = options.owners;
  }

  /** Newest first; the same array until something has changed. */
  get records(): readonly SessionRecord[] {
    this.#records ??= this.#members()
      .flatMap((member) => this.#recordsOf(member))
      .sort((a, b) => Number(a.created < b.created) - Number(a.created > b.created));
    return this.#records;
  }

  /** Of how many the program runs. Each remote asks for it every few seconds: not a walk over all sessions. */
  get running(): number {
    this.#running ??= this.#members().reduce((sum, member) => sum + this.#runningOf(member), 0);
    return this.#running;
  }

  /** To be called after every change of machines, of their sessions and of whose these are. */
  outdate(): void {
    this.#records = undefined;
    this.#running = undefined;
  }

  #recordsOf(member: RemoteConnection): readonly SessionRecord[] {
    const conflicts = this.#owners.conflictsOf(member);
    const records = [...member.records.values()];
    return conflicts.size === 0 ? records : records.filter(({ id }) => !conflicts.has(id));
  }

  #runningOf(member: RemoteConnection): number {
    const others = [...this.#owners.conflictsOf(member)].map((id) => member.records.get(id));
    return member.running - others.filter((record) => record?.status === "running").length;
  }
}
