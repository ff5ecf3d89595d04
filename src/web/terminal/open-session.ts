// An open session of the page: its state as signals, and a person's actions.
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../../protocol/client/client.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { ExitEvent, SessionEvent } from "../../protocol/frame/event.ts";
import type { Subscribed } from "../../protocol/frame/payload.ts";
import type { SavedFile } from "../../protocol/schemas/file.ts";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionViewer } from "../../protocol/schemas/viewer.ts";
import type { FileToSend } from "../files/send-file.ts";
import { Uploads } from "../files/uploads.ts";
import type { ColorScheme } from "../media-watch.ts";
import type { Preferences } from "../preferences.ts";
import type { Ending } from "../session/words.ts";
import { BellSound } from "./bell.ts";
import { ClipboardRequests, writeClipboard } from "./clipboard-requests.ts";
import { type Appearance, Emulator } from "./emulator/emulator.ts";
import { ModifierKeys } from "./emulator/modifier-keys.ts";
import { type Palette, paletteOf } from "./emulator/palette.ts";
import type { SwipeDirection } from "./emulator/touch.ts";
import { watchPane } from "./pane-layout.ts";
import { Reachability } from "./reachability.ts";
import { SessionInput } from "./session-input.ts";
import { SessionStream } from "./session-stream.ts";
import { Sizing } from "./sizing.ts";

/**
 * `failed`: it could not be opened, or is lost with its machine; retried every RETRY_MS while both are reachable, and when
 * the machine or the connection returns.
 * `watching`: it runs, and the viewer may only watch.
 */
type Phase =
  | { readonly kind: "opening" | "running" | "watching" | "missing" | "failed" }
  | { readonly kind: "ended"; readonly ending: Ending };

/** Delay before a failed request to open the session is repeated. The server counts requests. */
const RETRY_MS = 3_000;

type OpenSessionOptions = {
  readonly id: string;
  readonly socket: SessionSocket;
  readonly client: Pick<Client, "get" | "resync">;
  readonly preferences: Preferences;
  readonly scheme: ReadonlySignal<ColorScheme>;
  /** Whether this login may type at all; the record contains the rights of a share link. */
  readonly mayType: () => Promise<boolean>;
  /** At an HQ: whether the session's machine has left. */
  readonly isMachineGone: ReadonlySignal<boolean>;
  readonly onFailed: (what: string, error: unknown) => void;
  readonly onSwipe: (direction: SwipeDirection) => void;
  readonly sendFile: (file: FileToSend) => Promise<SavedFile>;
};

export class OpenSession implements Disposable {
  readonly id: string;
  readonly emulator: Emulator;
  readonly sizing: Sizing;
  readonly modifiers = new ModifierKeys();
  readonly clipboard: ClipboardRequests;
  readonly reachability: Reachability;
  readonly uploads: Uploads;
  readonly palette: ReadonlySignal<Palette>;
  readonly #options: OpenSessionOptions;
  readonly #stream: SessionStream;
  readonly #input: SessionInput;
  readonly #scope = new DisposableStack();
  readonly #phase = signal<Phase>({ kind: "opening" });
  readonly phase: ReadonlySignal<Phase> = this.#phase;
  readonly #title = signal<string | undefined>(undefined);
  /** The last title that was set while this was open. */
  readonly title: ReadonlySignal<string | undefined> = this.#title;
  readonly #link = signal<string | undefined>(undefined);
  /** The target of the link under the pointer. */
  readonly link: ReadonlySignal<string | undefined> = this.#link;
  readonly #bells = signal(0);
  /** The number of bells. */
  readonly bells: ReadonlySignal<number> = this.#bells;
  readonly #sound = this.#scope.use(new BellSound());
  readonly #viewers = signal<readonly SessionViewer[]>([]);
  /** The viewers, you included; empty if the server does not report them. */
  readonly viewers: ReadonlySignal<readonly SessionViewer[]> = this.#viewers;
  readonly #mayResize = signal(false);
  #isBeginning = false;
  #retrying: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OpenSessionOptions) {
    this.id = options.id;
    this.#options = options;
    const { preferences, scheme } = options;
    this.palette = computed(() => paletteOf(preferences.current.value.theme, scheme.value));
    this.clipboard = new ClipboardRequests({ sessionId: this.id, preferences, write: writeClipboard });
    this.emulator = this.#scope.use(this.#newEmulator());
    const paste = (text: string): void => this.emulator.paste(text);
    this.uploads = this.#scope.use(new Uploads({ ...options, paste }));
    this.sizing = new Sizing({
      drawing: this.emulator,
      fontSizePx: options.preferences.current.peek().fontSizePx,
      isRunning: () => this.mayFit.peek(),
      ask: (size) => void this.#resize(size),
    });
    this.#stream = this.#scope.use(this.#newStream());
    this.reachability = this.#scope.use(this.#newReachability());
    this.#input = this.#scope.use(this.#newInput());
    this.#scope.use(options.socket.onState((state) => this.#linkChanged(state.kind === "open")));
    this.#scope.defer(effect(() => this.#restyle()));
    this.#scope.defer(() => clearTimeout(this.#retrying));
    void this.#begin();
  }

  /** Whether the session may take this window's size: guests need a link that allows it. */
  readonly mayFit: ReadonlySignal<boolean> = computed(
    () => this.#phase.value.kind === "running" && this.#mayResize.value,
  );

  /** Whether input has not been acknowledged for 2 s. */
  get isInputPending(): ReadonlySignal<boolean> {
    return this.#input.isPending;
  }

  /** Retries a session that could not be opened. */
  retry(): void {
    const { kind } = this.#phase.peek();
    if (kind === "failed" || kind === "missing") void this.#begin();
  }

  /** The progress of the output: the next offset, and bytes that are not parsed yet. */
  get progress(): Pick<SessionStream, "nextOffset" | "backlog"> {
    return this.#stream;
  }

  /** Draws into the element and fits its size until disposed. */
  mount(element: HTMLElement): Disposable {
    this.emulator.open(element);
    return watchPane(element, {
      onLayout: () => this.sizing.layout(),
      // Resizing the window requests that size for the session.
      onResize: () => this.mayFit.peek() && this.sizing.fit(),
      onFocus: () => void this.#takeOver(),
    });
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  get #isRunning(): boolean {
    return this.#phase.peek().kind === "running";
  }

  #newEmulator(): Emulator {
    return new Emulator(this.#appearance, {
      onInput: (bytes) => this.#typed(bytes),
      onTitle: (title) => {
        this.#title.value = title;
      },
      onBell: () => this.#rang(),
      onCopy: (text) => {
        if (this.#stream.isParsingLive && this.#isRunning) this.clipboard.request(text);
      },
      onLoadFailed: (error) => this.#options.onFailed("Fonts or images did not load", error),
      onLink: (uri) => {
        this.#link.value = uri;
      },
      mayAnswer: () => this.#stream.isParsingLive && this.sizing.isOurs,
      onSwipe: this.#options.onSwipe,
      onPinch: (scale, isOver) => this.#pinched(scale, isOver),
    });
  }

  #newStream(): SessionStream {
    const { id, socket, client } = this.#options;
    return new SessionStream({
      id,
      socket,
      emulator: this.emulator,
      screen: () => client.resync(id),
      written: async () => (await client.get(id)).outputBytes,
      isShown: () => document.visibilityState === "visible",
      onAlive: () => this.reachability.heard(),
      onSize: (size) => this.#sized(size),
      onSubscribed: (subscribed) => this.#subscribed(subscribed),
      onEvent: (event) => this.#happened(event),
      onViewers: (viewers) => this.#watched(viewers),
      onError: (error) => this.#failed(error),
    });
  }

  #newReachability(): Reachability {
    const { id, client, isMachineGone } = this.#options;
    return new Reachability({
      isMachineGone,
      check: () => client.get(id),
      now: () => performance.now(),
      onLost: () => this.#stream.cut(),
      onBack: () => {
        this.#goOn();
        // A request made meanwhile was refused.
        this.sizing.layout();
      },
    });
  }

  #newInput(): SessionInput {
    return new SessionInput({
      id: this.id,
      socket: this.#options.socket,
      reachability: this.reachability,
      isRunning: () => this.#isRunning,
      onError: (error) => this.#failed(error),
    });
  }

  async #begin(): Promise<void> {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    // The current drawing stays until there is a new one.
    if (this.#phase.peek().kind !== "failed") this.#phase.value = { kind: "opening" };
    try {
      await this.#draw();
    } catch (error) {
      if (!this.#scope.disposed) this.#failed(error);
    }
    this.#isBeginning = false;
    // Otherwise the link or the machine reports its return.
    const isReachable = this.#options.socket.state.kind === "open" && !this.reachability.isUnreachable.peek();
    if (this.#phase.peek().kind !== "failed" || !isReachable || this.#scope.disposed) return;
    clearTimeout(this.#retrying);
    this.#retrying = setTimeout(() => this.retry(), RETRY_MS);
  }

  async #draw(): Promise<void> {
    const record = await this.#options.client.get(this.id);
    await this.#stream.begin();
    if (this.#scope.disposed) return;
    this.reachability.reached();
    this.reachability.settle();
    if (record.status === "exited") return this.#stream.afterwards(() => this.#ended(record));
    const mayType = record.access !== "view" && (await this.#options.mayType());
    // It may have ended meanwhile.
    if (this.#scope.disposed || this.#phase.peek().kind === "ended") return;
    this.#mayResize.value = record.access === undefined || record.mayResize === true;
    this.#phase.value = { kind: mayType ? "running" : "watching" };
    this.emulator.refuseInput(!mayType);
    // Without other viewers the session takes this window's size. The list of viewers is newer, if it is there already.
    const isAlone = record.viewers === 0 || this.#viewers.peek().length === 1;
    if (this.mayFit.peek() && isAlone) this.sizing.fit();
    if (mayType) this.#input.opened();
    else this.#input.watching();
  }

  /** The server's permission to type may have changed meanwhile. */
  #watched(viewers: readonly SessionViewer[]): void {
    const isFirst = this.#viewers.peek().length === 0;
    this.#viewers.value = viewers;
    // The record may have counted a preview that this window has closed since.
    if (isFirst && viewers.length === 1 && this.mayFit.peek()) this.sizing.fit();
    const mayType = viewers.find(({ isYou }) => isYou)?.mayType;
    const { kind } = this.#phase.peek();
    if (mayType === undefined || kind !== (mayType ? "watching" : "running")) return;
    this.#phase.value = { kind: mayType ? "running" : "watching" };
    this.emulator.refuseInput(!mayType);
  }

  #sized(size: TerminalSize): void {
    this.emulator.resize(size);
    this.sizing.told(size);
    this.sizing.layout();
  }

  #subscribed({ cols, rows }: Subscribed): void {
    this.#sized({ cols, rows });
  }

  #happened(event: SessionEvent): void {
    if (event.kind === "resize") this.#sized({ cols: event.cols, rows: event.rows });
    if (event.kind === "title") this.#title.value = event.title;
    if (event.kind === "exit") void this.#exited(event);
  }

  /** The record has more detail than the event: a lost session host, or a user who ended it. */
  async #exited({ exitCode, signal }: ExitEvent): Promise<void> {
    const record = await this.#options.client.get(this.id).catch(() => undefined);
    if (this.#scope.disposed) return;
    this.#ended(record?.status === "exited" ? record : { exitCode, exitSignal: signal });
  }

  #ended(ending: Ending): void {
    if (this.#phase.peek().kind === "ended") return;
    this.#phase.value = { kind: "ended", ending };
    this.emulator.finish(() => this.sizing.finish());
  }

  #failed(error: unknown): void {
    const code = error instanceof ServiceError ? error.code : undefined;
    if (code === "session_not_running") return;
    // A machine that left takes its sessions out of the list, but they are not removed.
    const isGone = code === "session_not_found" && !this.reachability.isMachineGone;
    // Repeated attempts fail silently: the banner is still shown.
    const wasFailed = this.#phase.peek().kind === "failed";
    if (isGone) this.#phase.value = { kind: "missing" };
    else if (code === "session_not_found" || this.#phase.peek().kind === "opening") {
      this.#phase.value = { kind: "failed" };
    }
    if (this.reachability.failed(error) || code === "session_not_found" || wasFailed) return;
    this.#options.onFailed("The session does not respond", error);
  }

  #typed(bytes: Uint8Array): void {
    const { kind } = this.#phase.peek();
    if (kind === "ended" || kind === "watching" || kind === "missing") return;
    this.#input.type(this.modifiers.meant(bytes));
    this.#stream.typed();
  }

  /** At this window's size the font changes, once the fingers are lifted; at another size the view zooms. */
  #pinched(scale: number, isOver: boolean): void {
    const { preferences } = this.#options;
    if (this.sizing.foreign.peek() !== undefined) this.sizing.zoom(scale, isOver);
    else if (isOver) {
      preferences.change({ fontSizePx: Math.round(preferences.current.peek().fontSizePx * scale) });
    }
  }

  async #resize(size: TerminalSize): Promise<void> {
    const { socket, onFailed } = this.#options;
    try {
      await socket.resize(this.id, size);
    } catch (error) {
      // Retried as soon as the connection or the machine is back.
      if (this.reachability.failed(error) || socket.state.kind !== "open") return this.sizing.forget();
      if (this.#scope.disposed || !this.#isRunning) return;
      this.sizing.refused(size);
      const hasEnded = error instanceof ServiceError && error.code === "session_not_running";
      if (!hasEnded) onFailed("The terminal was not resized", error);
    }
  }

  #linkChanged(isOpen: boolean): void {
    this.sizing.forget();
    if (isOpen) this.#goOn();
    else this.#stream.cut();
    this.#input.opened();
  }

  #goOn(): void {
    this.reachability.settle();
    this.retry();
    const { kind } = this.#phase.peek();
    // Also while it opens: the link may return before the permissions are known.
    if (kind !== "ended" && kind !== "missing") this.#stream.findPresent();
  }

  /** When the only remaining window comes to the front, the session takes its size. */
  async #takeOver(): Promise<void> {
    if (this.sizing.isOurs || !this.mayFit.peek() || this.#options.socket.state.kind !== "open") return;
    try {
      const { viewers } = await this.#options.client.get(this.id);
      if (viewers <= 1 && this.mayFit.peek() && !this.#scope.disposed) this.sizing.fit();
    } catch {
      // Otherwise the button offers it.
    }
  }

  #rang(): void {
    const { bell } = this.#options.preferences.current.peek();
    // Bells of earlier output have already rung.
    if (bell === "off" || !this.#stream.isParsingLive) return;
    this.#bells.value += 1;
    if (bell === "sound") this.#sound.ring();
  }

  get #appearance(): Appearance {
    return { ...this.#options.preferences.current.value, palette: this.palette.value };
  }

  #restyle(): void {
    const appearance = this.#appearance;
    this.emulator.restyle(appearance);
    this.sizing.setFontSize(appearance.fontSizePx);
  }
}
