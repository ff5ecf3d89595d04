// The page's text about an incomplete recording.
import type { SessionRecord } from "../../protocol/schemas/session.ts";

export type RecordingWords = {
  /** For the head of the session. */
  readonly mark: string;
  /** The cause, in sentences. */
  readonly title: string;
};

const STEP = 1024;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `undefined` if the recording is complete. */
export function recordingWords({
  recording,
  lostBytes = 0,
}: Pick<SessionRecord, "recording" | "lostBytes">): RecordingWords | undefined {
  const lost = lostBytes === 0 ? [] : [`The disk could not store all output: ${missing(lostBytes)}.`];
  if (recording !== undefined) {
    const { mark, title } = STATES[recording];
    return { mark, title: [title, ...lost].join(" ") };
  }
  return lost.length === 0 ? undefined : { mark: "recording incomplete", title: lost.join(" ") };
}

const STATES: Readonly<Record<NonNullable<SessionRecord["recording"]>, RecordingWords>> = {
  waiting: {
    mark: "recording paused",
    title:
      "The disk is full or read-only. The session keeps running; its latest output is kept in memory and recorded once the disk has space.",
  },
  stopped: {
    mark: "recording stopped",
    title: "The recording has reached its size limit. New output is shown, but not recorded.",
  },
};

function missing(bytes: number): string {
  return bytes === 1
    ? "1 byte is missing from the recording"
    : `${size(bytes)} are missing from the recording`;
}

/** In the largest unit with at least 1, after rounding to a tenth. */
export function size(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (rounded(amount, unit) >= STEP && unit < UNITS.length - 1) {
    amount /= STEP;
    unit += 1;
  }
  return `${rounded(amount, unit)} ${UNITS[unit]}`;
}

/** Bytes are whole. */
function rounded(amount: number, unit: number): number {
  return unit === 0 ? amount : Math.round(amount * 10) / 10;
}
