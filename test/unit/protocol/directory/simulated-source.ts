// A source of sessions, one watcher of it, and everything that can go wrong between them, one step at a time.
import {
  keyOf,
  type SessionChange,
  type SessionSnapshot,
  type SourcePosition,
} from "../../../../src/protocol/directory/session-change.ts";
import {
  type DirectoryInput,
  type DirectoryNotification,
  SessionDirectory,
} from "../../../../src/protocol/directory/session-directory.ts";
import type { SessionRecord } from "../../../../src/protocol/schemas/session.ts";

/** Few ids, so that they are used again all the time. */
const IDS = ["a", "b", "c"];
const REMOTES = [undefined, "one", "two"];

type Message = Extract<DirectoryInput, { kind: "source-up" | "change" | "outdated" }>;
/** A request for the list: asked, then answered by the source, then received, perhaps in another order than others. */
type Question = { readonly request: number; snapshot: SessionSnapshot | undefined };

export type SimulationOptions = {
  /** The watcher sees only the sessions of one owner. */
  readonly isFiltered: boolean;
  /** The source says no revisions: every change only says that the list is outdated. */
  readonly isUnnumbered: boolean;
};

export class Simulation {
  readonly directory = new SessionDirectory();
  /** The sessions according to the notifications alone. */
  readonly mirror = new Map<string, SessionRecord>();
  readonly #options: SimulationOptions;
  readonly #sessions = new Map<string, SessionRecord>();
  #epoch = 1;
  #revision = 0;
  #keys = 0;
  /** The revision that was sent last on the connection. */
  #sent = 0;
  /** On its way to the watcher, in order; `undefined` while there is no connection. */
  #connection: Message[] | undefined;
  /** The watcher has noticed that there is no connection. */
  #isDownNoticed = true;
  readonly #questions: Question[] = [];

  constructor(options: SimulationOptions) {
    this.#options = options;
  }

  /** One step that `choice` names. */
  step(choice: number): void {
    const [action, detail] = [choice % 16, choice >> 4];
    if (action < 3) this.#start(detail);
    else if (action < 5) this.#change(detail);
    else if (action === 5) this.#end(detail);
    else if (action === 6) this.#remove(detail);
    else if (action === 7) this.#leave(detail);
    else if (action === 8) this.#cut();
    else if (action === 9) this.#noticeOrConnect();
    else if (action === 10) this.#restart(detail);
    else if (action === 11) this.#answer(detail);
    else if (action === 12) this.#receiveList(detail);
    else if (action === 13) this.#lose();
    else this.#receive();
  }

  /** The connection stays from now on, and everything arrives. */
  settle(): void {
    this.#noticeOrConnect();
    this.#noticeOrConnect();
    // The loss of the last change shows in the next one.
    this.#tell({ kind: "remote-left", remoteName: "nobody" }, true);
    for (let round = 0; round < 1_000; round++) {
      if (this.#connection?.length === 0 && this.#questions.length === 0) return;
      this.#receive();
      this.#answer(round);
      this.#receiveList(round);
    }
    throw new Error("the watcher lists the source again and again");
  }

  /** The sessions of the source that the watcher may see. */
  get shown(): ReadonlyMap<string, SessionRecord> {
    return new Map(
      [...this.#sessions.values()].filter((one) => this.#shows(one)).map((one) => [keyOf(one), one]),
    );
  }

  #shows({ owner }: SessionRecord): boolean {
    return !this.#options.isFiltered || owner === "me";
  }

  get #position(): SourcePosition {
    return { epoch: `epoch ${this.#epoch}`, revision: this.#revision };
  }

  #pick(detail: number): SessionRecord | undefined {
    return [...this.#sessions.values()][detail % Math.max(1, this.#sessions.size)];
  }

  #start(detail: number): void {
    const id = IDS[detail % IDS.length] ?? "";
    if ([...this.#sessions.values()].some((one) => one.id === id)) return;
    this.#keys += 1;
    const [owner, remoteName] = [detail & 4 ? "me" : "another", REMOTES[(detail >> 3) % REMOTES.length]];
    this.#put(record({ id, key: `${this.#epoch}.${this.#keys}`, owner, remoteName, status: "running" }));
  }

  #change(detail: number): void {
    const session = this.#pick(detail);
    if (session !== undefined) this.#put({ ...session, title: `title ${this.#revision}` });
  }

  #end(detail: number): void {
    const session = this.#pick(detail);
    if (session !== undefined) this.#put({ ...session, status: "exited" });
  }

  #put(session: SessionRecord): void {
    this.#sessions.set(keyOf(session), session);
    this.#tell({ kind: "put", record: session }, this.#shows(session));
  }

  #remove(detail: number): void {
    const session = this.#pick(detail);
    if (session === undefined) return;
    this.#sessions.delete(keyOf(session));
    this.#tell({ kind: "removed", key: keyOf(session) }, this.#shows(session));
  }

  #leave(detail: number): void {
    const remoteName = detail & 1 ? "one" : "two";
    for (const [key, session] of this.#sessions)
      if (session.remoteName === remoteName) this.#sessions.delete(key);
    this.#tell({ kind: "remote-left", remoteName }, true);
  }

  #tell(what: SessionChange["what"], isShown: boolean): void {
    this.#revision += 1;
    if (this.#connection === undefined || !isShown) return;
    const { isFiltered, isUnnumbered } = this.#options;
    const previous = isFiltered ? { previous: this.#sent } : {};
    this.#sent = this.#revision;
    this.#connection.push(
      isUnnumbered
        ? { kind: "outdated" }
        : { kind: "change", change: { ...this.#position, ...previous, what } },
    );
  }

  /** Undelivered changes are lost; an answer may still arrive. */
  #cut(): void {
    if (this.#connection === undefined) return;
    this.#connection = undefined;
    this.#isDownNoticed = false;
  }

  #noticeOrConnect(): void {
    if (this.#connection !== undefined) return;
    if (!this.#isDownNoticed) {
      this.#isDownNoticed = true;
      this.#apply({ kind: "source-down" });
      return;
    }
    this.#sent = this.#revision;
    const position = this.#options.isUnnumbered ? undefined : this.#position;
    this.#connection = [{ kind: "source-up", position }];
  }

  /** Another epoch; it has kept some sessions, under their keys. */
  #restart(detail: number): void {
    this.#cut();
    this.#epoch += 1;
    this.#revision = detail % 3;
    this.#keys = 0;
    for (const [index, key] of [...this.#sessions.keys()].entries()) {
      if ((detail >> index) & 1) this.#sessions.delete(key);
    }
  }

  #receive(): void {
    const message = this.#connection?.shift();
    if (message !== undefined) this.#apply(message);
  }

  /** It was left out on an open connection. */
  #lose(): void {
    if (this.#connection?.[0]?.kind !== "source-up") this.#connection?.shift();
  }

  #answer(detail: number): void {
    const question = this.#questions[detail % Math.max(1, this.#questions.length)];
    if (question === undefined || question.snapshot !== undefined) return;
    const position = this.#options.isUnnumbered ? undefined : this.#position;
    question.snapshot = { position, records: [...this.shown.values()] };
  }

  #receiveList(detail: number): void {
    const [question] = this.#questions.splice(detail % Math.max(1, this.#questions.length), 1);
    if (question?.snapshot === undefined) {
      if (question !== undefined) this.#questions.push(question);
      return;
    }
    this.#apply({ kind: "list", request: question.request, snapshot: question.snapshot });
  }

  #apply(input: DirectoryInput): void {
    for (const told of this.directory.apply(input)) this.#hear(told);
  }

  /** Throws if the notifications are not a possible history of sessions. */
  #hear(told: DirectoryNotification): void {
    if (told.kind === "list-wanted") {
      this.#questions.push({ request: told.request, snapshot: undefined });
      return;
    }
    if (told.kind === "remote-left") {
      for (const [key, one] of this.mirror) if (one.remoteName === told.remoteName) this.mirror.delete(key);
      return;
    }
    const key = keyOf(told.record);
    const known = this.mirror.get(key);
    const isWrong =
      (told.kind === "session-start" && known !== undefined) ||
      (told.kind === "session-removed" && known === undefined) ||
      (told.kind === "session-exit" && (known?.status === "exited" || told.record.status !== "exited"));
    if (isWrong) throw new Error(`${told.kind} of ${key} is told, known as ${known?.status}`);
    if (told.kind === "session-removed") this.mirror.delete(key);
    else this.mirror.set(key, told.record);
  }
}

export function record(
  members: Pick<SessionRecord, "id" | "status"> & Partial<SessionRecord>,
): SessionRecord {
  const { id } = members;
  const created = "2026-01-01T00:00:00.000Z";
  return {
    ...{
      sessionId: id,
      name: id,
      created,
      startedAt: created,
      lastModified: created,
      command: ["cat"],
      cwd: "/",
    },
    ...{ workingDir: "/", cols: 80, rows: 24, outputBytes: 0, viewers: 0 },
    ...members,
  };
}
