import type { SessionRecord } from "../schemas/session.ts";

/** A position in the changes of a source of sessions: `epoch` is new at every start, `revision` counts the changes. */
export type SourcePosition = { readonly epoch: string; readonly revision: number };

/** The header of a list of sessions, `EPOCH REVISION`. The list is at least as new. */
export const POSITION_HEADER = "ttyhq-position";

export function positionText({ epoch, revision }: SourcePosition): string {
  return `${epoch} ${revision}`;
}

/** `undefined` for invalid text. */
function parsePosition(text: string | undefined): SourcePosition | undefined {
  const [, epoch, revision] = /^(\S{1,64}) (\d{1,15})$/.exec(text ?? "") ?? [];
  return epoch === undefined ? undefined : { epoch, revision: Number(revision) };
}

/** One change of a source, with the whole record, so that no further request is needed. */
export type SessionChange = SourcePosition & {
  /**
   * The revision that the receiver must have before this change; by default the one right before it. It is lower for a
   * receiver that may not see all sessions.
   */
  readonly previous?: number | undefined;
  readonly what:
    | { readonly kind: "put"; readonly record: SessionRecord; readonly isNew?: boolean }
    | { readonly kind: "removed"; readonly key: string }
    /** All sessions of that remote have left the list of an HQ. */
    | { readonly kind: "remote-left"; readonly remoteName: string };
};

/** All sessions of a source; without a position if the source does not number its changes. */
export type SessionSnapshot = {
  readonly position: SourcePosition | undefined;
  readonly records: readonly SessionRecord[];
};

export function snapshotOf(answer: {
  readonly value: readonly SessionRecord[];
  readonly headers: ReadonlyMap<string, string>;
}): SessionSnapshot {
  return { records: answer.value, position: parsePosition(answer.headers.get(POSITION_HEADER)) };
}

/** Identifies a session for good. A source without keys never has two sessions with the same id and creation time. */
export function keyOf({ key, id, created }: Pick<SessionRecord, "key" | "id" | "created">): string {
  return key ?? `${id} ${created}`;
}
