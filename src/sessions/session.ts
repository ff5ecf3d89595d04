// One terminal session, running or ended. Forward only: starting, running, exited.
import { isDeepStrictEqual } from "node:util";
import { withDeadline } from "../lib/async/deadline.ts";
import { singleFlight } from "../lib/async/single-flight.ts";
import { succeeded } from "../lib/async/succeeded.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  exitEvent,
  gitStatusEvent,
  resizeEvent,
  type ServerEvent,
  type SessionEvent,
} from "../protocol/frame/event.ts";
import type { OutputDelivery } from "../protocol/frame/frame.ts";
import { BELL_INTERVAL_MS, EXIT_WAIT_MS, KILL_GRACE_MS, TITLE_INTERVAL_MS } from "../protocol/limits.ts";
import {
  type SessionRecord,
  type SignalName,
  sizeText,
  type TerminalSize,
} from "../protocol/schemas/session.ts";
import type { Delivery, Sink } from "./backend.ts";
import { exitData, type Gap, lostBefore } from "./journal/event.ts";
import type { Journal } from "./journal/journal.ts";
import { Foreground } from "./pty/foreground.ts";
import { OutputBatch } from "./pty/output-batch.ts";
import { endProcesses, readStat, sessionProcesses, signalProcess, startTicks } from "./pty/process-tree.ts";
import type { Pty, PtyExit } from "./pty/pty.ts";
import { TitleScan } from "./pty/title-scan.ts";
import type { SessionFiles } from "./storage/control-dir.ts";
import { type StoredSession, sessionRecord } from "./storage/stored-session.ts";
import type { FolderPresence } from "./user-folders.ts";

/** Maximum memory for the first subscriber. */
const MAX_UNSEEN_BYTES = 16 * 1024;
/** Memory of a delivery besides its output. */
const DELIVERY_BYTES = 256;
/** Maximum unread input of a program; more is refused with `input_overflow`. */
const MAX_PENDING_INPUT_BYTES = 1024 * 1024;

/** Sizes of one session, for its screen. Over that, output before the latest counts as of the first. */
const MAX_SIZES = 1_000;

export type SizeChange = TerminalSize & { readonly offset: number };

type Live = { readonly pty: Pty; readonly journal: Journal; readonly foreground: Foreground };

export type SessionOptions = {
  readonly stored: StoredSession;
  readonly files: SessionFiles;
  /** Absent: the stored size. */
  readonly sizes?: readonly SizeChange[];
  /** Of a recovered session: gaps in its journal. */
  readonly gaps?: readonly Gap[];
  /** `members`: of that event besides the usual ones. */
  readonly onEvent: (session: Session, type: ServerEvent["type"], members?: Partial<ServerEvent>) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly recordInput: boolean;
  readonly meter?: { outputBytes: number };
};

export class Session {
  readonly files: SessionFiles;
  readonly #options: SessionOptions;
  readonly #started: number;
  readonly #meter: { outputBytes: number };
  /** Completes characters that arrive in pieces; undefined unless input is recorded. */
  readonly #typed: TextDecoder | undefined;
  readonly #sinks = new Set<Sink>();
  /** All deliveries since the start, until the first subscription or MAX_UNSEEN_BYTES. */
  #unseen: Delivery[] | undefined;
  #unseenBytes = 0;
  readonly #titles = new TitleScan();
  readonly #sizes: SizeChange[];
  /** Resolves after the exit was reported, which follows the last byte of output. */
  readonly #exited = Promise.withResolvers<void>();
  readonly #batch: OutputBatch;
  #stored: StoredSession;
  /** Until the record of the exit, which nothing follows in the journal. */
  #live: Live | undefined;
  /** Kept after the end: it may hold output that is not on disk. */
  #journal: Journal | undefined;
  #lastModified: string;
  /** Time of the last input, at first of the start. */
  #typedMs: number;
  #endRequested: true | undefined;
  #toldTitle: string | undefined;
  #titlePause: NodeJS.Timeout | undefined;
  #rangMs = Number.NEGATIVE_INFINITY;
  #folder: FolderPresence | undefined;
  /** The last delivered git status. */
  #status: SessionEvent | undefined;

  constructor(options: SessionOptions) {
    this.files = options.files;
    this.#stored = options.stored;
    this.#sizes = [...(options.sizes ?? [{ ...this.size, offset: 0 }])];
    this.#options = options;
    this.#meter = options.meter ?? { outputBytes: 0 };
    this.#started = options.now();
    this.#typedMs = this.#started;
    this.#typed = options.recordInput ? new TextDecoder("utf-8", { ignoreBOM: true }) : undefined;
    this.#lastModified = options.stored.exit?.at ?? options.stored.created;
    const emit = (output: OutputDelivery): void => this.#output(output);
    this.#batch = new OutputBatch({ sessionId: this.id, now: options.now, emit });
  }

  start(journal: Journal, spawn: () => Pty): void {
    const pty = spawn();
    const foreground = new Foreground({
      ...{ pid: pty.pid, now: this.#options.now, typedMs: () => this.#typedMs },
      onNews: ({ type, ...members }) => this.#options.onEvent(this, type, members),
    });
    this.#live = { pty, journal, foreground };
    this.#journal = journal;
    this.#unseen = [];
    this.#stored = { ...this.#stored, pid: pty.pid, startTicks: startTicks(pty.pid) };
    journal.note({ time: 0, offset: 0, kind: "r", data: sizeText(this.size) });
  }

  /** While it is paused, the program blocks as soon as the kernel holds about 12 KB of its output. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#live?.pty.pause();
    else this.#live?.pty.resume();
  }

  get id(): string {
    return this.#stored.id;
  }

  /** Unique for ever, unlike the id. */
  get key(): string {
    return keyOf(this.#stored);
  }

  get stored(): StoredSession {
    return this.#stored;
  }

  get isRunning(): boolean {
    return this.#stored.exit === undefined;
  }

  get size(): TerminalSize {
    const { cols, rows } = this.#stored;
    return { cols, rows };
  }

  get sizes(): readonly SizeChange[] {
    return this.#sizes;
  }

  /** Offset after the last emitted byte. */
  get outputBytes(): number {
    return this.#stored.exit?.outputBytes ?? this.#batch.offset;
  }

  /** Undefined for a recovered session. */
  get journal(): Journal | undefined {
    return this.#journal;
  }

  get gaps(): readonly Gap[] {
    return this.#journal?.gaps ?? this.#options.gaps ?? [];
  }

  get record(): SessionRecord {
    const record = sessionRecord(this.#stored, {
      lastModified: this.#lastModified,
      outputBytes: this.outputBytes,
      viewers: this.#sinks.size,
      ...recordingState(this),
    });
    return { ...record, ...this.#folder?.status };
  }

  /** The session is in that folder until its removal; `undefined`: in no folder whose status is known. */
  enter(folder: FolderPresence | undefined): void {
    this.#folder?.[Symbol.dispose]();
    this.#folder = folder;
  }

  statusChanged(): void {
    this.flush();
    const before = this.#status;
    const status = this.#statusDelivery();
    const isNew = !isDeepStrictEqual(before, this.#status);
    if (status !== undefined && isNew) for (const sink of this.#sinks) sink(status);
    this.#options.onEvent(this, "session-changed");
  }

  /** Emits batched output, so that `outputBytes` is up to date. */
  flush(): void {
    this.#batch.flush();
  }

  /** From the pty; copies `chunk`. A field, to save a function call for each read. */
  readonly receive = (chunk: Uint8Array): void => {
    this.#meter.outputBytes += chunk.length;
    this.#batch.add(chunk);
  };

  /** `offset`: where delivery begins. The first subscriber gets the beginning too, if it is still held. */
  attach(sink: Sink): Disposable & { readonly offset: number } {
    this.flush();
    const unseen = this.#unseen;
    const offset = unseen === undefined ? this.outputBytes : 0;
    this.#unseen = undefined;
    for (const delivery of unseen ?? []) sink(delivery);
    this.#sinks.add(sink);
    const exit = this.#stored.exit;
    const status = this.#statusDelivery();
    if (status !== undefined) sink(status);
    if (exit !== undefined) {
      sink({ kind: "event", offset: exit.outputBytes, event: exitEvent(this.id, exit.code, exit.signal) });
    }
    return { offset, [Symbol.dispose]: () => void this.#sinks.delete(sink) };
  }

  write(input: Uint8Array): void {
    const { pty, journal } = this.#running();
    if (pty.pendingInputBytes + input.length > MAX_PENDING_INPUT_BYTES) {
      throw new ServiceError(
        "input_overflow",
        `the program of session ${this.id} does not read its input; try again later`,
      );
    }
    pty.write(input);
    this.#typedMs = this.#options.now();
    const typed = this.#typed?.decode(input, { stream: true }) ?? "";
    if (typed !== "") this.#note(journal, "i", typed);
  }

  resize(size: TerminalSize): void {
    const { pty, journal } = this.#running();
    if (size.cols === this.#stored.cols && size.rows === this.#stored.rows) return;
    this.flush();
    pty.resize(size);
    this.#stored = { ...this.#stored, ...size };
    addSize(this.#sizes, { ...size, offset: this.outputBytes });
    this.#note(journal, "r", sizeText(size));
    this.#event(resizeEvent(size));
    this.#options.onEvent(this, "session-changed");
  }

  mark(label: string): void {
    const { journal } = this.#running();
    this.flush();
    this.#note(journal, "m", label);
    this.#event({ kind: "marker", label });
  }

  rename(name: string): void {
    this.#stored = { ...this.#stored, name };
  }

  /** Signals all processes of the terminal. KILL_GRACE_MS after a SIGTERM they are killed (facts 1.11). */
  async kill(signal: SignalName): Promise<void> {
    this.#running();
    await this.#signal(signal);
    if (signal === "SIGTERM" && this.isRunning) void this.#killLater();
  }

  /**
   * Ends all processes: SIGHUP, SIGTERM, after 3 s SIGKILL, then a hangup. Resolves after the exit was reported. Rejects with
   * `session_running` if it is not within EXIT_WAIT_MS, such as for a process that is stuck in the kernel.
   */
  readonly end = singleFlight(async (): Promise<void> => {
    this.#endRequested = true;
    // Unknown if no descriptor was left at the start. The pid of a running child is not reused.
    const { pid, startTicks = readStat(pid)?.startTicks } = this.#stored;
    const left = await endProcesses(pid, startTicks, { graceMs: KILL_GRACE_MS });
    // Programs of another user, such as sudo, take the hangup from the kernel alone.
    if (left.length > 0) this.#live?.pty[Symbol.dispose]();
    if (await this.#exitsWithin(EXIT_WAIT_MS)) return;
    const message = `session ${this.id} has not ended yet: its program or its disk does not respond`;
    throw new ServiceError("session_running", message);
  });

  /** From the pty, after the last byte of output. */
  async finish({ exitCode: code, signal }: PtyExit): Promise<void> {
    const live = this.#live;
    if (live === undefined) return;
    this.#batch.flush();
    this.#tellTitle();
    this.#unseen = undefined;
    live.foreground[Symbol.dispose]();
    const ended = { code, reason: signal === undefined ? "exit" : "signal", signal } as const;
    this.#note(live.journal, "x", exitData(ended));
    this.#live = undefined;
    await live.journal.flushed();
    const at = new Date().toISOString();
    const exit = { ...ended, endRequested: this.#endRequested, at, outputBytes: this.#batch.offset };
    this.#stored = { ...this.#stored, exit };
    this.#lastModified = at;
    this.#folder?.ended();
    // Before the viewers: a client that sees the exit finds it in the record.
    this.#options.onEvent(this, "session-exit");
    this.#event(exitEvent(this.id, code, signal));
    this.#exited.resolve();
    await live.journal.close();
  }

  async #killLater(): Promise<void> {
    if (await this.#exitsWithin(KILL_GRACE_MS)) return;
    // Without a free file descriptor the processes are not found: try again.
    await this.#signal("SIGKILL").catch(() => this.#killLater());
  }

  #exitsWithin(ms: number): Promise<boolean> {
    return succeeded(withDeadline(this.#exited.promise, ms, "the end of a session"));
  }

  async #signal(signal: SignalName): Promise<void> {
    for (const pid of await sessionProcesses(this.#stored.pid)) signalProcess(pid, signal);
  }

  #running(): Live {
    if (this.#live !== undefined) return this.#live;
    throw new ServiceError("session_not_running", `session ${this.id} has ended`);
  }

  #output(output: OutputDelivery): void {
    const live = this.#live;
    if (live === undefined) return;
    const time = this.#time();
    this.#lastModified = new Date().toISOString();
    // Viewers first: starting a disk write takes longer than sending the echo of a key.
    this.#deliver(output);
    const wasStopped = live.journal.isStopped;
    live.journal.append(output.bytes, time);
    if (live.journal.isStopped !== wasStopped) this.#options.onEvent(this, "session-changed");
    const { title, hasBell, marks, notification } = this.#titles.scan(output.bytes);
    live.foreground.output(marks, notification);
    if (title !== undefined) this.#stored = { ...this.#stored, title };
    if (this.#titlePause === undefined) this.#tellTitle();
    if (hasBell) this.#ring();
  }

  /** Programs may set another title with each byte. */
  readonly #tellTitle = (): void => {
    this.#titlePause = undefined;
    const { title } = this.#stored;
    if (title === undefined || title === this.#toldTitle) return;
    this.#toldTitle = title;
    this.#titlePause = setTimeout(this.#tellTitle, TITLE_INTERVAL_MS).unref();
    this.#event({ kind: "title", title });
    this.#options.onEvent(this, "session-changed");
  };

  #ring(): void {
    const nowMs = this.#options.now();
    if (nowMs - this.#rangMs < BELL_INTERVAL_MS) return;
    this.#rangMs = nowMs;
    this.#options.onEvent(this, "bell");
  }

  /** Nothing comes after an exit (contract 1.8). */
  #statusDelivery(): Delivery | undefined {
    const status = this.isRunning ? this.#folder?.status : undefined;
    this.#status = status && gitStatusEvent(this.id, status);
    return this.#status && { kind: "event", offset: this.outputBytes, event: this.#status };
  }

  #event(event: SessionEvent): void {
    this.#deliver({ kind: "event", offset: this.outputBytes, event });
  }

  #deliver(delivery: Delivery): void {
    for (const sink of this.#sinks) sink(delivery);
    if (this.#unseen === undefined) return;
    this.#unseen.push(delivery);
    this.#unseenBytes += DELIVERY_BYTES + (delivery.kind === "output" ? delivery.bytes.length : 0);
    if (this.#unseenBytes > MAX_UNSEEN_BYTES) this.#unseen = undefined;
  }

  #note(journal: Journal, kind: "r" | "m" | "i" | "x", data: string): void {
    journal.note({ time: this.#time(), offset: this.outputBytes, kind, data });
  }

  /** Seconds since the session began. */
  #time(): number {
    return (this.#options.now() - this.#started) / 1000;
  }
}

/** At most MAX_SIZES, the last of each offset. */
export function addSize(sizes: SizeChange[], change: SizeChange): void {
  if (sizes.at(-1)?.offset === change.offset) sizes.pop();
  sizes.push(change);
  if (sizes.length > MAX_SIZES) sizes.splice(1, 1);
}

/** The state of the recording for clients: empty while it is complete. */
function recordingState(session: Session): Pick<SessionRecord, "recording" | "lostBytes"> {
  const { isRunning, journal, gaps } = session;
  const lostBytes = lostBefore(gaps) || undefined;
  if (journal?.failure !== undefined) return { recording: "waiting", lostBytes };
  return { recording: isRunning && journal?.isStopped === true ? "stopped" : undefined, lostBytes };
}
