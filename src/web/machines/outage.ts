// An HQ's errors about an unreachable machine, and their wording on the page.
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";

const WORDS: Partial<Record<ErrorCode, string>> = {
  remote_unreachable: "The machine is offline. Try again when it is back online.",
  remote_timeout: "The machine did not answer in time. The request may still take effect.",
  remote_not_found: "This machine is no longer registered. Choose another one.",
  cordoned: "The machine starts no new sessions at present. Choose another one.",
  remote_id_required: "Choose a machine for the session.",
};

const OUTAGES: readonly ErrorCode[] = ["remote_unreachable", "remote_timeout"];

/** One or two whole sentences; undefined for errors that are not about a machine. */
export function plainWords(error: unknown): string | undefined {
  return error instanceof ServiceError ? WORDS[error.code] : undefined;
}

/** Whether the session's machine is unreachable: it may return at any time. */
export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && OUTAGES.includes(error.code);
}
