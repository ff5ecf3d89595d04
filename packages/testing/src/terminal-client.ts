import { Emitter } from "../../../src/lib/async/emitter.ts";
import type { OpenLink } from "../../../src/protocol/client/link.ts";
import { isFinal } from "../../../src/protocol/client/link.ts";
import { SessionSocket } from "../../../src/protocol/client/session-socket.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { ExitEvent, SessionEvent } from "../../../src/protocol/frame/event.ts";
import type { Subscribed } from "../../../src/protocol/frame/payload.ts";
import type { Resync } from "../../../src/protocol/frame/resync.ts";
import { keyBytes } from "../../../src/protocol/keys.ts";
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../../src/protocol/limits.ts";
import type { SignalName, TerminalSize } from "../../../src/protocol/schemas/session.ts";
import { openLink } from "../../../src/remote/uplink.ts";
import { type Access, targetOf } from "./access.ts";
import type { TerminalLog } from "./failures/terminal-log.ts";
import type { OracleChecker } from "./oracle/checker.ts";
import { ReceivedOutput } from "./terminal/received-output.ts";
import { RecentFrames } from "./terminal/recent-frames.ts";
import { TerminalView } from "./terminal/terminal-view.ts";
import { failure, type WaitOptions, waitFor } from "./wait.ts";

/** Kept bytes of the output, by default. */
const KEPT_BYTES = 16 * 1024 * 1024;
const KEPT_EVENTS = 1_000;

/** Shorter than a real client's delay, so that tests do not wait for a server that is back. */
const BACKOFF = { quickMs: 50, firstMs: 100, maxMs: 1_000 };

export type ViewOptions = {
  /** Where it begins: an offset, or "live" for new output only. Default: at the first byte. */
  readonly from?: number | "live";
  /** Receives all output, with offsets and gaps. */
  readonly checker?: Pick<OracleChecker, "take" | "skip">;
  /** False saves the emulator: for many viewers of much output. */
  readonly hasScreen?: boolean;
  /** The last bytes of output to keep; default: at most 16 MiB. */
  readonly keptBytes?: number;
  /** Added to the message of a failed wait. */
  readonly scene?: () => string;
  /** Keeps the terminal's screens for the report of a failure. */
  readonly log?: TerminalLog;
};

export type AttachOptions = ViewOptions & WaitOptions;

/**
 * A person at a terminal: follows one session over its own /ws connection, through reconnects, and types into it. The
 * screen has new output before any callback sees it.
 */
export class TerminalClient implements Disposable {
  readonly sessionId: string;
  readonly #socket: SessionSocket;
  readonly #view: TerminalView | undefined;
  readonly #output: ReceivedOutput;
  readonly #checker: ViewOptions["checker"];
  readonly #scene: () => string;
  readonly #frames = new RecentFrames();
  readonly #logged: Disposable | undefined;
  readonly #changes = new Emitter<void>();
  readonly #events: SessionEvent[] = [];
  #isAttached = false;
  #resyncs = 0;
  /** The number of connections so far. */
  #links = 0;
  #exit: ExitEvent | undefined;
  #problem: Error | undefined;

  private constructor(open: OpenLink, sessionId: string, options: ViewOptions) {
    const { from = 0, checker, hasScreen = true, keptBytes = KEPT_BYTES, scene = () => "" } = options;
    this.sessionId = sessionId;
    this.#output = new ReceivedOutput(keptBytes);
    this.#checker = checker;
    this.#scene = scene;
    this.#view = hasScreen ? new TerminalView({ cols: DEFAULT_COLS, rows: DEFAULT_ROWS }) : undefined;
    this.#socket = new SessionSocket({ open, clientName: "testing", version: "0", times: BACKOFF });
    this.#logged = options.log?.add(() => this.#describe());
    this.#follow(from);
  }

  /** Resolves when the server has accepted. Rejects on refusal or timeout. */
  static attach(access: Access, sessionId: string, options: AttachOptions = {}): Promise<TerminalClient> {
    const target = targetOf(access);
    return TerminalClient.over((handlers, signal) => openLink(target, handlers, signal), sessionId, options);
  }

  /** The same over another kind of link. */
  static async over(open: OpenLink, sessionId: string, options: AttachOptions): Promise<TerminalClient> {
    const client = new TerminalClient(open, sessionId, options);
    try {
      await client.until(() => (client.#isAttached ? true : undefined), "the subscription", options);
      return client;
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  /** The rows of the screen, joined by line feeds, without trailing spaces and trailing blank rows. */
  get screen(): string {
    return this.#shown.text;
  }

  /** The same with the scrollback before it: at most 1,000 lines. */
  get screenWithScrollback(): string {
    return this.#shown.textWithScrollback;
  }

  get size(): TerminalSize {
    return this.#shown.size;
  }

  /** Counted from 0. */
  get cursor(): { readonly column: number; readonly row: number } {
    return this.#shown.cursor;
  }

  /** The kept output, without gaps and repetitions; it ends before `offset`. */
  get bytes(): Uint8Array {
    return this.#output.bytes;
  }

  /** The offset of the next byte; undefined before the first. */
  get offset(): number | undefined {
    return this.#output.next;
  }

  /** The number of gaps: the server sent the screen instead. */
  get resyncs(): number {
    return this.#resyncs;
  }

  /** The number of reconnects. */
  get reconnects(): number {
    return Math.max(0, this.#links - 1);
  }

  /** The session's events, the last 1,000. */
  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  /** Resolves with the first match of the screen: one row is one line. Rejects at the session's end. */
  shows(
    pattern: RegExp | string,
    options: WaitOptions & { readonly withScrollback?: boolean } = {},
  ): Promise<RegExpExecArray> {
    const search = searcher(pattern);
    const check = (): RegExpExecArray | undefined =>
      search(options.withScrollback === true ? this.screenWithScrollback : this.screen);
    return this.until(check, `${pattern} on the screen`, options);
  }

  /** Resolves when everything up to an offset has arrived. */
  async reaches(offset: number, options: WaitOptions = {}): Promise<void> {
    await this.until(() => (this.offset ?? -1) >= offset || undefined, `byte ${offset}`, options);
  }

  /** Resolves when the connection is open, at once or after a reconnect; input without a connection is refused. */
  async connected(options: WaitOptions = {}): Promise<void> {
    await this.until(() => this.#socket.state.kind === "open" || undefined, "the connection", options);
  }

  /** Resolves when the program has ended and all its output has arrived. */
  ended(options: WaitOptions = {}): Promise<ExitEvent> {
    return this.until(() => this.#exit, "the end of the session", options);
  }

  /**
   * Resolves when `find` returns a value; it is called after every change. Rejects with an Error that shows the screen:
   * on timeout, at the session's end, and with the server's refusals. An error of `find` rejects this wait only.
   */
  until<T>(find: () => T | undefined, what: string, options: WaitOptions = {}): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      if (this.#problem !== undefined) reject(this.#failed(this.#problem.message, this.#problem));
      try {
        const found = find();
        if (found !== undefined) resolve(found);
        else if (this.#exit !== undefined) reject(this.#failed(`the session ended without ${what}`));
      } catch (error) {
        reject(error);
      }
    };
    const listening = this.#changes.on(check);
    check();
    return waitFor(promise, what, options, () => this.#whole).finally(() => listening[Symbol.dispose]());
  }

  /** Resolves when the server has processed the input; rejects if it refuses, or if the input's arrival is unknown. */
  type(input: string | Uint8Array): Promise<void> {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    return this.#socket.write(this.sessionId, bytes);
  }

  /** A key of INPUT_KEY, such as "enter" and "arrow_up". */
  async press(key: string): Promise<void> {
    const bytes = keyBytes(key);
    if (bytes === undefined) throw new ServiceError("invalid_request", `no key is called ${key}`);
    await this.type(bytes);
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#socket.resize(this.sessionId, size);
  }

  kill(signal: SignalName): Promise<void> {
    return this.#socket.kill(this.sessionId, signal);
  }

  [Symbol.dispose](): void {
    this.#logged?.[Symbol.dispose]();
    this.#socket[Symbol.dispose]();
    this.#view?.[Symbol.dispose]();
  }

  get #shown(): TerminalView {
    if (this.#view === undefined) throw new Error(`the client of session ${this.sessionId} has no screen`);
    return this.#view;
  }

  #follow(from: number | "live"): void {
    this.#socket.onState((state) => {
      if (state.kind === "open") this.#change(() => void this.#links++);
      if (state.kind === "closed" && state.error !== undefined) this.#fail(state.error);
    });
    this.#socket.attach(
      this.sessionId,
      { from },
      {
        onSubscribed: (subscribed) => this.#change(() => this.#subscribed(subscribed)),
        onOutput: ({ offset, bytes }) => this.#change(() => this.#took(offset, bytes)),
        onResync: (resync) => this.#change(() => this.#resync(resync)),
        onEvent: (event) => this.#change(() => this.#event(event)),
        onError: (error) => {
          if (isFinal(error)) this.#fail(error);
        },
      },
    );
  }

  /** The socket's handlers may not throw: every later wait reports the error. */
  #change(work: () => void): void {
    try {
      work();
      this.#changes.emit();
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #subscribed({ cols, rows }: Subscribed): void {
    this.#isAttached = true;
    this.#frames.add("SUBSCRIBED", `${cols}x${rows}`);
    this.#view?.resize({ cols, rows });
  }

  #took(offset: number, bytes: Uint8Array): void {
    this.#frames.add("OUTPUT", `${offset}+${bytes.length}`, bytes);
    this.#output.take(offset, bytes);
    this.#checker?.take(bytes, offset);
    this.#view?.write(bytes);
  }

  #resync({ offset, size, bytes }: Resync): void {
    this.#resyncs += 1;
    this.#frames.add("RESYNC", `${offset} ${size.cols}x${size.rows}`);
    this.#output.skip(offset);
    this.#checker?.skip(offset);
    this.#view?.reset(size);
    this.#view?.write(bytes);
  }

  #event(event: SessionEvent): void {
    this.#frames.add("EVENT", event.kind);
    if (this.#events.push(event) > KEPT_EVENTS) this.#events.shift();
    if (event.kind === "resize") this.#view?.resize(event);
    if (event.kind === "exit") this.#exit = event;
  }

  #fail(error: Error): void {
    this.#problem ??= error;
    this.#changes.emit();
  }

  #failed(message: string, cause?: Error): Error {
    return new Error(failure(message, this.#whole), { cause });
  }

  get #whole(): string {
    return [this.#describe(), this.#scene()].filter((text) => text !== "").join("\n");
  }

  #describe(): string {
    const { state } = this.#socket;
    const why = "error" in state && state.error !== undefined ? `: ${state.error.message}` : "";
    const lines = [
      `session ${this.sessionId}, output up to byte ${this.offset ?? "(none)"}, connection ${state.kind}${why}`,
      ...(this.#exit === undefined ? [] : [`ended with exit code ${this.#exit.exitCode}`]),
      ...(this.#view === undefined ? [] : [framed(this.#view)]),
      this.#frames.text,
    ];
    return lines.filter((line) => line !== "").join("\n");
  }
}

function searcher(pattern: RegExp | string): (text: string) => RegExpExecArray | undefined {
  const isText = typeof pattern === "string";
  const source = isText ? pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&") : pattern.source;
  // Without g and y, which would continue from the last match.
  const regexp = new RegExp(source, isText ? "" : pattern.flags.replaceAll(/[gy]/g, ""));
  return (text) => regexp.exec(text) ?? undefined;
}

function framed({ size: { cols, rows }, text }: TerminalView): string {
  const head = `── screen ${cols}x${rows} `.padEnd(60, "─");
  return [head, ...text.split("\n").map((line) => `│ ${line}`), "".padEnd(60, "─")].join("\n");
}
