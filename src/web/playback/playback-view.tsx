import { computed } from "@preact/signals";
import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { routeHash, sessionRoute } from "../app/route.ts";
import type { SessionProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { Select } from "../components/select.tsx";
import { type IdleLimit, RecordingPlayback } from "./recording-playback.ts";

const SEEK_S = 5;
const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const IDLE_LIMITS = [undefined, 0.5, 1, 2, 5];
const TOO_LONG = "The first 512 MiB of the recording are played. Save it as .cast to have all of it.";
const MINUTE_S = 60;
const HOUR_S = 3_600;

type PlaybackViewProps = SessionProps & {
  /** Whether the session has the focus among the visible ones. */
  readonly isFocused: boolean;
  /** Seconds since the start of the recording. */
  readonly startAt: number;
};

/** Plays the recording of the open session, over its terminal. */
export function PlaybackView({ page, workspace, open, isFocused, startAt }: PlaybackViewProps): VNode {
  const pane = useRef<HTMLDivElement>(null);
  const playback = useMemo(
    () =>
      new RecordingPlayback({
        read: (signal) => workspace.client.recording(open.id, { follow: false }, signal),
        readOn: (after, signal) => workspace.client.recordingAfter(open.id, after, signal),
        isRunning: () => open.phase.peek().kind !== "ended",
        appearance: computed(() => ({ ...page.preferences.current.value, palette: open.palette.value })),
        startAt,
        onFailed: (error) => page.notices.failed("The recording was not loaded", error),
        onCut: () => page.notices.told({ tone: "error", text: TOO_LONG }),
      }),
    [open.id, startAt],
  );
  // A layout effect: the others do not run, nor end, in a view that is removed before it is painted.
  useLayoutEffect(() => {
    const mounted = pane.current === null ? undefined : playback.mount(pane.current);
    return () => {
      mounted?.[Symbol.dispose]();
      playback[Symbol.dispose]();
    };
  }, [playback]);
  const record = workspace.sessions.record(open.id);
  const at = Math.floor(playback.recordingTime.value);
  const hash = routeHash(sessionRoute(open.id, at));
  return (
    <section class="playback" aria-label="Recording" onKeyDownCapture={(event) => seekByKey(event, playback)}>
      <div class="playback-screen" style={{ background: open.palette.value.background }}>
        <div class="terminal-pane" ref={pane} />
        {playback.loading.value === "under way" && (
          <output class="splash" aria-label="Loading the recording" />
        )}
        {playback.loading.value === "failed" && (
          <Failure words="The recording was not loaded. Close it and open it again." />
        )}
      </div>
      <Position playback={playback} />
      <div class="playback-bar">
        <PlayButton playback={playback} isFocused={isFocused} />
        <output class="playback-time">
          {clockWords(playback.position.value)} / {clockWords(playback.duration.value)}
          {playback.isLive.value && <span class="badge">Live</span>}
        </output>
        <Speed playback={playback} />
        <Idle playback={playback} />
        <span class="playback-space" />
        <CopyButton text={`${location.origin}${location.pathname}${hash}`} label="Copy a link to this time" />
        {record !== undefined && (
          <>
            <Export label="Text" onExport={() => workspace.saveText(record, () => playback.text())} />
            <Export label=".cast" onExport={() => workspace.download(record)} />
          </>
        )}
        <a class="button small" {...workspace.panes.linkTo(open.id)}>
          {open.phase.value.kind === "ended" ? "Close" : "Back to live"}
        </a>
      </div>
    </section>
  );
}

type PlaybackProps = { readonly playback: RecordingPlayback };

/** Fields and buttons keep the keys that they use themselves. */
function seekByKey(event: KeyboardEvent, playback: RecordingPlayback): void {
  if (event.target instanceof Element && event.target.matches("input, select, button, a")) return;
  if (event.key === " ") playback.toggle();
  else if (!seekByArrow(event.key, playback)) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether the key is a seeking arrow. */
function seekByArrow(key: string, playback: RecordingPlayback): boolean {
  if (key !== "ArrowLeft" && key !== "ArrowRight") return false;
  playback.seek(playback.position.value + (key === "ArrowLeft" ? -SEEK_S : SEEK_S));
  return true;
}

type ExportProps = { readonly label: string; readonly onExport: () => Promise<void> };

function Export({ label, onExport }: ExportProps): VNode {
  return (
    <Button
      kind="ghost small"
      icon="download"
      title={`Save the recording as ${label === "Text" ? "text" : "asciicast"}`}
      onClick={() => void onExport()}
    >
      {label}
    </Button>
  );
}

/** Takes the focus with its pane, unless another element of the pane has it. */
function PlayButton({ playback, isFocused }: PlaybackProps & Pick<PlaybackViewProps, "isFocused">): VNode {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const isElsewhere = button.current?.closest(".pane")?.contains(document.activeElement) === false;
    if (isFocused && isElsewhere) button.current?.focus();
  }, [isFocused]);
  const isPaused = playback.isPaused.value;
  return (
    <button
      ref={button}
      type="button"
      class="button ghost"
      aria-label={isPaused ? "Play" : "Pause"}
      onClick={() => playback.toggle()}
      onKeyDown={({ key }) => void seekByArrow(key, playback)}
    >
      <Icon name={isPaused ? "play" : "pause"} />
    </button>
  );
}

/** A slider, with the markers of the recording above it. */
function Position({ playback }: PlaybackProps): VNode {
  const position = playback.position.value;
  const duration = playback.duration.value;
  return (
    <div class="playback-position">
      {playback.markers.value.map((marker) => (
        <button
          key={marker.position}
          type="button"
          class="playback-marker"
          style={{ left: `${(100 * marker.position) / Math.max(duration, 1e-6)}%` }}
          title={marker.label}
          aria-label={`Marker ${marker.label} at ${clockWords(marker.position)}`}
          onClick={() => playback.seek(marker.position)}
        />
      ))}
      <input
        type="range"
        aria-label="Position"
        aria-valuetext={`${clockWords(position)} of ${clockWords(duration)}`}
        min={0}
        max={duration}
        step="any"
        value={position}
        onInput={({ currentTarget }) => playback.seek(currentTarget.valueAsNumber)}
      />
    </div>
  );
}

function Speed({ playback }: PlaybackProps): VNode {
  return (
    <Select
      label="Speed"
      options={SPEEDS.map((speed) => ({ value: String(speed), words: `${speed}×` }))}
      value={String(playback.speed.value)}
      onChoose={(speed) => playback.setSpeed(Number(speed))}
    />
  );
}

function Idle({ playback }: PlaybackProps): VNode {
  const words = (limit: IdleLimit): string =>
    limit === undefined ? "All pauses" : `Pauses up to ${limit} s`;
  return (
    <Select
      label="Pauses"
      options={IDLE_LIMITS.map((limit) => ({ value: String(limit), words: words(limit) }))}
      value={String(playback.idleLimit.value)}
      onChoose={(value) => playback.setIdleLimit(IDLE_LIMITS.find((limit) => String(limit) === value))}
    />
  );
}

function clockWords(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [Math.floor((whole % HOUR_S) / MINUTE_S), whole % MINUTE_S];
  const [minutes = "", rest = ""] = parts.map((part) => String(part).padStart(2, "0"));
  return whole >= HOUR_S ? `${Math.floor(whole / HOUR_S)}:${minutes}:${rest}` : `${Number(minutes)}:${rest}`;
}
