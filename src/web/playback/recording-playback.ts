// A recording that is played in the page.
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type CastFileEvent, readCast } from "../../protocol/asciicast.ts";
import { PlaybackClock, playEvents, type TimedEvent, Timeline } from "../../protocol/playback.ts";
import { TerminalSize } from "../../protocol/schemas/session.ts";
import { type Appearance, Emulator } from "../terminal/emulator/emulator.ts";
import { Sizing } from "../terminal/sizing.ts";

/** What is loaded of a recording; a longer one is played up to there. */
const MAX_BYTES = 64 * 1024 * 1024;
const TICK_MS = 100;
/** The longest wait of a timer. */
const MAX_WAIT_MS = 2 ** 31 - 1;

type RecordingPlaybackOptions = {
  readonly read: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  readonly appearance: ReadonlySignal<Appearance>;
  /** Seconds since the start of the recording. */
  readonly startAt: number;
  readonly onFailed: (error: unknown) => void;
};

export type Marker = { readonly label: string; readonly position: number };

/** Seconds of the playback, in which pauses may be cut; `undefined`: they are not. */
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
  readonly #position = signal(0);
  readonly #isPaused = signal(false);
  readonly #speed = signal(1);
  readonly #isLoaded = signal(false);
  #events: readonly CastFileEvent[] = [];
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
    const tick = setInterval(() => this.#show(), TICK_MS);
    this.#scope.defer(() => clearInterval(tick));
    void this.#load().catch((error: unknown) => this.#stop.signal.aborted || options.onFailed(error));
  }

  get isLoaded(): ReadonlySignal<boolean> {
    return this.#isLoaded;
  }

  /** Seconds of the playback. */
  get position(): ReadonlySignal<number> {
    return this.#position;
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

  get isPaused(): ReadonlySignal<boolean> {
    return this.#isPaused;
  }

  get speed(): ReadonlySignal<number> {
    return this.#speed;
  }

  get idleLimit(): ReadonlySignal<IdleLimit> {
    return this.#idleLimit;
  }

  mount(element: HTMLElement): Disposable {
    this.emulator.open(element);
    const observer = new ResizeObserver(() => this.#sizing.layout());
    observer.observe(element);
    return { [Symbol.dispose]: () => observer.disconnect() };
  }

  /** Plays on, or pauses; at the end it begins anew. */
  toggle(): void {
    const isPaused = !this.#clock.isPaused;
    const isOver = this.#clock.position >= this.duration.peek();
    this.#clock.set(isOver && !isPaused ? { position: 0, isPaused } : { isPaused });
    this.#show();
  }

  /** `position`: seconds of the playback. */
  seek(position: number): void {
    this.#clock.set({ position: Math.min(position, this.duration.peek()) });
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

  /** All lines up to the end, as far as the scrollback goes. */
  async text(): Promise<string> {
    using emulator = newEmulator(this.#options.appearance.peek(), this.#options.onFailed);
    emulator.resize(this.#size);
    const clock = new PlaybackClock({ now: () => 0, position: Number.POSITIVE_INFINITY });
    const { signal } = this.#stop;
    await playEvents(this.#timed.peek(), { clock, signal, wait: waited, ...writing(emulator) });
    return `${emulator.text.replaceAll(/[ \n]+$/g, "")}\n`;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  async #load(): Promise<void> {
    const { read, startAt } = this.#options;
    const { header, events } = await readCast(upTo(MAX_BYTES, await read(this.#stop.signal)));
    this.#size = TerminalSize.parse({ cols: header.width, rows: header.height });
    const all: CastFileEvent[] = [];
    for await (const event of events) all.push(event);
    this.#events = all;
    this.#isLoaded.value = true;
    this.#arrange(startAt);
  }

  /** Begins anew with the idle limit, at a time of the recording. */
  #arrange(time: number): void {
    const timeline = new Timeline(this.#idleLimit.peek());
    this.#timed.value = this.#events.map((event) => timeline.next(event));
    this.#clock.set({ position: Math.min(positionAt(this.#timed.peek(), time), this.duration.peek()) });
    this.#run.abort();
    this.#run = new AbortController();
    void this.#play(AbortSignal.any([this.#stop.signal, this.#run.signal]));
  }

  async #play(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await written(this.emulator, this.emulator.resetBytes);
      this.#resize(this.#size);
      const sizes = { resize: (size: TerminalSize) => this.#resize(size) };
      const clock = this.#clock;
      const outcome = await playEvents(this.#timed.peek(), {
        ...{ clock, signal, wait: waited },
        ...writing(this.emulator, sizes),
      });
      if (outcome === "ended") await this.#rewound(signal);
    }
  }

  /** Resolves when the clock is set back from the end. */
  async #rewound(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    clock.set({ isPaused: true, position: this.duration.peek() });
    while (!signal.aborted && clock.position >= this.duration.peek()) {
      await waited(Number.POSITIVE_INFINITY, AbortSignal.any([signal, clock.changed]));
    }
  }

  #resize(size: TerminalSize): void {
    this.emulator.resize(size);
    this.#sizing.told(size);
    this.#sizing.layout();
  }

  #show(): void {
    this.#position.value = Math.min(this.#clock.position, this.duration.peek());
    this.#isPaused.value = this.#clock.isPaused;
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

/** Output and resizes of a recording, into an emulator. */
function writing(emulator: Emulator, { resize }: Pick<Emulator, "resize"> = emulator) {
  const encoder = new TextEncoder();
  return {
    write: (text: string) => written(emulator, encoder.encode(text)),
    onEvent: ({ code, data }: TimedEvent): void => {
      const [cols, rows] = data.split("x").map(Number);
      const size = TerminalSize.safeParse({ cols, rows });
      if (code === "r" && size.success) resize.call(emulator, size.data);
    },
  };
}

function written(emulator: Emulator, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => emulator.write(bytes, resolve));
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, Math.min(ms, MAX_WAIT_MS));
    const aborted = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", aborted, { once: true });
  });
}

/** The line that is cut there ends the recording. */
async function* upTo(most: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const part of bytes) {
    if (read >= most) return;
    read += part.length;
    yield part;
  }
}

function recordingTime(timed: readonly TimedEvent[], position: number): number {
  const before = timed.findLast(({ due }) => due <= position);
  return before === undefined ? position : before.time + position - before.due;
}

function positionAt(timed: readonly TimedEvent[], time: number): number {
  const before = timed.findLast((event) => event.time <= time);
  const after = timed.find((event) => event.time > time);
  if (before === undefined) return Math.min(time, after?.due ?? 0);
  return Math.min(before.due + time - before.time, after?.due ?? before.due);
}
