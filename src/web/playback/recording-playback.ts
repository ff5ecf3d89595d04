// A recording that is played in the page.
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { readCast, readCastStream } from "../../protocol/asciicast.ts";
import {
  PlaybackClock,
  type PlayOutcome,
  playEvents,
  type TimedEvent,
  Timeline,
} from "../../protocol/playback.ts";
import { parseSize, TerminalSize } from "../../protocol/schemas/session.ts";
import { waited } from "../../protocol/waited.ts";
import { type Appearance, Emulator } from "../terminal/emulator/emulator.ts";
import { watchLayout } from "../terminal/pane-layout.ts";
import { Sizing } from "../terminal/sizing.ts";
import { RecordedEvents } from "./recorded-events.ts";

/** Limit of loaded data; a longer recording is played up to there. Twice a server's default recording limit. */
const MAX_BYTES = 512 * 1024 * 1024;
const TICK_MS = 100;
/** Delay before the next request for a growing recording. */
const RETRY_MS = 1_000;

type RecordingPlaybackOptions = {
  readonly read: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** Reads the recording from its line `after` on, as server-sent events. */
  readonly readOn: (after: number, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** Whether the session may write more. */
  readonly isRunning: () => boolean;
  readonly appearance: ReadonlySignal<Appearance>;
  /** Seconds since the start of the recording. */
  readonly startAt: number;
  readonly onFailed: (error: unknown) => void;
  /** Whether the recording is longer than the loaded part. */
  readonly onCut: () => void;
};

export type Marker = { readonly label: string; readonly position: number };

/** Seconds of the playback after which pauses are cut; `undefined`: they are not. */
export type IdleLimit = number | undefined;

export class RecordingPlayback implements Disposable {
  readonly emulator: Emulator;
  readonly #options: RecordingPlaybackOptions;
  readonly #sizing: Sizing;
  readonly #scope = new DisposableStack();
  readonly #stop = new AbortController();
  readonly #clock = new PlaybackClock({ now: () => performance.now() });
  readonly #timed = signal<readonly TimedEvent[]>([]);
  readonly #idleLimit = signal<IdleLimit>(undefined);
  readonly idleLimit: ReadonlySignal<IdleLimit> = this.#idleLimit;
  readonly #position = signal(0);
  /** Seconds of the playback. */
  readonly position: ReadonlySignal<number> = this.#position;
  readonly #isPaused = signal(false);
  readonly isPaused: ReadonlySignal<boolean> = this.#isPaused;
  readonly #speed = signal(1);
  readonly speed: ReadonlySignal<number> = this.#speed;
  readonly #loading = signal<"under way" | "done" | "failed">("under way");
  readonly loading: ReadonlySignal<"under way" | "done" | "failed"> = this.#loading;
  /** At the end of a growing recording: new output is shown at once. */
  readonly #isLive = signal(false);
  readonly isLive: ReadonlySignal<boolean> = this.#isLive;
  readonly #events = new RecordedEvents();
  #timeline = new Timeline();
  #bytes = 0;
  #isGrowing = false;
  #size: TerminalSize = { cols: 80, rows: 24 };
  #run = new AbortController();

  constructor(options: RecordingPlaybackOptions) {
    this.#options = options;
    this.emulator = this.#scope.use(newEmulator(options.appearance.peek(), options.onFailed));
    this.#sizing = new Sizing({
      drawing: this.emulator,
      fontSizePx: options.appearance.peek().fontSizePx,
      isRunning: () => false,
      ask: () => undefined,
    });
    this.#scope.defer(() => this.#stop.abort());
    this.#scope.defer(
      effect(() => {
        this.emulator.restyle(options.appearance.value);
        this.#sizing.setFontSize(options.appearance.value.fontSizePx);
      }),
    );
    const tick = setInterval(() => this.#tick(), TICK_MS);
    this.#scope.defer(() => clearInterval(tick));
    void this.#load().catch((error: unknown) => {
      if (this.#stop.signal.aborted) return;
      this.#loading.value = "failed";
      options.onFailed(error);
    });
  }

  readonly duration: ReadonlySignal<number> = computed(() => this.#timed.value.at(-1)?.due ?? 0);

  /** Seconds since the start of the recording, for a link. */
  readonly recordingTime: ReadonlySignal<number> = computed(() =>
    recordingTime(this.#timed.value, this.#position.value),
  );

  readonly markers: ReadonlySignal<readonly Marker[]> = computed(() =>
    this.#timed.value
      .filter(({ code }) => code === "m")
      .map(({ data, due }) => ({ label: data, position: due })),
  );

  mount(element: HTMLElement): Disposable {
    this.emulator.open(element);
    return watchLayout(element, () => this.#sizing.layout());
  }

  /** Plays or pauses; at the end it restarts, unless more may come. */
  toggle(): void {
    const wasLive = this.#isLive.peek();
    const isPaused = wasLive || !this.#clock.isPaused;
    const isOver = this.#clock.position >= this.duration.peek();
    this.#isLive.value = false;
    this.#clock.set(isOver && !isPaused && !this.#isGrowing ? { position: 0, isPaused } : { isPaused });
    this.#show();
  }

  /** `position`: seconds of the playback. */
  seek(position: number): void {
    const wasLive = this.#isLive.peek();
    if (wasLive && position >= this.duration.peek()) return;
    this.#isLive.value = false;
    const isPaused = this.#clock.isPaused && !wasLive;
    this.#clock.set({ position: Math.min(position, this.duration.peek()), isPaused });
    this.#show();
  }

  setSpeed(speed: number): void {
    this.#clock.set({ speed });
    this.#speed.value = speed;
  }

  setIdleLimit(idleLimit: IdleLimit): void {
    this.#show();
    const time = this.recordingTime.peek();
    this.#idleLimit.value = idleLimit;
    this.#arrange(time);
  }

  /** All lines up to the end, as far as the scrollback goes. Rejects if the player is closed meanwhile. */
  async text(): Promise<string> {
    using emulator = newEmulator(this.#options.appearance.peek(), this.#options.onFailed);
    emulator.resize(this.#size);
    const clock = new PlaybackClock({ now: () => 0, position: Number.POSITIVE_INFINITY });
    const { signal } = this.#stop;
    const events = this.#events.withData(
      () => this.#timed.peek(),
      0,
      () => undefined,
    );
    await playEvents(events, { ...{ clock, signal, wait: waited, isStreamed: false }, ...writing(emulator) });
    if (signal.aborted) throw new Error("the recording was closed");
    return `${emulator.text.replaceAll(/[ \n]+$/g, "")}\n`;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  async #load(): Promise<void> {
    const { read, startAt, isRunning } = this.#options;
    const mayGrow = isRunning();
    const { header, events } = await readCast(this.#upToMost(await read(this.#stop.signal)));
    this.#size = TerminalSize.parse({ cols: header.width, rows: header.height });
    for await (const event of events) this.#events.add(event);
    this.#loading.value = "done";
    this.#isGrowing = isRunning();
    this.#arrange(startAt);
    if (mayGrow) await this.#grow();
  }

  /** Adds the session's output until it has ended; after a failure continues from the last line. */
  async #grow(): Promise<void> {
    const { signal } = this.#stop;
    for (let isOver = false; !isOver && !signal.aborted && this.#bytes < MAX_BYTES; ) {
      isOver = !this.#options.isRunning();
      // Retried later; the player keeps the loaded part.
      await this.#readOn(signal).catch(() => undefined);
      if (!isOver) await waited(RETRY_MS, signal);
    }
    this.#isGrowing = false;
    this.#isLive.value = false;
  }

  /** Guests do not get every line, so their line numbers are inexact; times and simultaneous events are exact. */
  async #readOn(signal: AbortSignal): Promise<void> {
    const { list } = this.#events;
    const last = list.at(-1)?.time ?? 0;
    let again = list.length - 1 - list.findLastIndex(({ time }) => time !== last);
    const body = await this.#options.readOn(1 + list.length - again, signal);
    for await (const event of readCastStream(this.#upToMost(body))) {
      const isKnown = event.time < last || (event.time === last && again > 0);
      if (event.time === last) again -= 1;
      if (!isKnown) this.#events.add(event);
    }
  }

  /** A truncated line ends the recording. */
  async *#upToMost(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of bytes) {
      if (this.#bytes >= MAX_BYTES) return this.#options.onCut();
      this.#bytes += part.length;
      yield part;
    }
  }

  /** Restarts with the idle limit, at a time of the recording. */
  #arrange(time: number): void {
    this.#timeline = new Timeline(this.#idleLimit.peek());
    this.#timed.value = this.#events.list.map((event) => this.#timeline.next(event));
    const end = this.duration.peek();
    const position = Math.min(positionAt(this.#timed.peek(), time), end);
    // Going back in time starts at the present.
    this.#clock.set(this.#isGrowing && position >= end ? { position, isPaused: true } : { position });
    this.#run.abort();
    this.#run = new AbortController();
    void this.#play(AbortSignal.any([this.#stop.signal, this.#run.signal]));
  }

  async #play(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    const sizes = { resize: (size: TerminalSize) => this.#resize(size) };
    const parts = { ...{ clock, signal, wait: waited, isStreamed: false }, ...writing(this.emulator, sizes) };
    while (!signal.aborted) {
      await written(this.emulator, this.emulator.resetBytes);
      this.#resize(this.#size);
      let next = 0;
      const passed = (count: number): void => {
        next = count;
      };
      let outcome: PlayOutcome = "ended";
      for (let end = 0; outcome === "ended" && clock.position >= end && !signal.aborted; ) {
        outcome = await playEvents(
          this.#events.withData(() => this.#timed.peek(), next, passed),
          { ...parts, written: end },
        );
        const timed = this.#timed.peek();
        end = timed[next - 1]?.due ?? 0;
        // Output may have been added and sought while the last one was written.
        const isMoreDue = (timed[next]?.due ?? Number.POSITIVE_INFINITY) <= clock.position;
        if (outcome === "ended" && !isMoreDue) await this.#stay(end, signal);
      }
    }
  }

  /** Waits at the end until the clock is set back, continues, or new output is added. */
  async #stay(end: number, signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    if (this.#isGrowing && !clock.isPaused) this.#isLive.value = true;
    clock.set({ isPaused: true, position: end });
    while (!signal.aborted && clock.isPaused && clock.position === end) {
      await waited(Number.POSITIVE_INFINITY, AbortSignal.any([signal, clock.changed]));
    }
  }

  #resize(size: TerminalSize): void {
    this.emulator.resize(size);
    this.#sizing.told(size);
    this.#sizing.layout();
  }

  #tick(): void {
    const timed = this.#timed.peek();
    if (this.#loading.peek() === "done" && timed.length < this.#events.list.length) {
      const added = this.#events.list.slice(timed.length).map((event) => this.#timeline.next(event));
      this.#timed.value = [...timed, ...added];
      if (this.#isLive.peek()) this.#clock.set({ position: this.duration.peek() });
    }
    this.#show();
  }

  #show(): void {
    this.#position.value = Math.min(this.#clock.position, this.duration.peek());
    this.#isPaused.value = this.#clock.isPaused && !this.#isLive.peek();
  }
}

function newEmulator(appearance: Appearance, onLoadFailed: (error: unknown) => void): Emulator {
  const ignore = (): void => undefined;
  const emulator = new Emulator(appearance, {
    ...{ onInput: ignore, onTitle: ignore, onBell: ignore, onCopy: ignore, onLink: ignore, onLoadFailed },
    ...{ onSwipe: ignore, onPinch: ignore, mayAnswer: () => false },
  });
  emulator.refuseInput();
  return emulator;
}

/** Replays output and resizes of a recording into an emulator. */
function writing(emulator: Emulator, { resize }: Pick<Emulator, "resize"> = emulator) {
  const encoder = new TextEncoder();
  return {
    write: (text: string) => written(emulator, encoder.encode(text)),
    onEvent: ({ code, data }: TimedEvent): void => {
      const size = code === "r" ? parseSize(data) : undefined;
      if (size !== undefined) resize.call(emulator, size);
    },
  };
}

function written(emulator: Emulator, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => emulator.write(bytes, resolve));
}

function recordingTime(timed: readonly TimedEvent[], position: number): number {
  const before = timed.findLast(({ due }) => due <= position);
  return before === undefined ? position : before.time + (position - before.due);
}

function positionAt(timed: readonly TimedEvent[], time: number): number {
  const before = timed.findLast((event) => event.time <= time);
  const after = timed.find((event) => event.time > time);
  if (before === undefined) return Math.min(time, after?.due ?? 0);
  return Math.min(before.due + (time - before.time), after?.due ?? before.due);
}
