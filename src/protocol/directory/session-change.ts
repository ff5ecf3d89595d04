import type { SessionRecord } from "../schemas/session.ts";

/** How far a source of sessions is: `epoch` is new at every start of the source, and `revision` counts its changes. */
export type SourcePosition = { readonly epoch: string; readonly revision: number };

/** The header of a list of sessions, which is at least as new as that: `EPOCH REVISION`. */
export const POSITION_HEADER = "ttyhq-position";

export function positionText({ epoch, revision }: SourcePosition): string {
  return `${epoch} ${revision}`;
}

/** `undefined` for what is no position. */
export function parsePosition(text: string | undefined): SourcePosition | undefined {
  const [, epoch, revision] = /^(\S{1,64}) (\d{1,15})$/.exec(text ?? "") ?? [];
  return epoch === undefined ? undefined : { epoch, revision: Number(revision) };
}

/** One change of a source, with the whole record: nothing has to be asked after it. */
export type SessionChange = SourcePosition & {
  /**
   * The revision that the receiver has to know before this change. Absent: the one right before it. It is lower for a
   * receiver that is not told of every session.
   */
  readonly previous?: number | undefined;
  readonly what:
    | { readonly kind: "put"; readonly record: SessionRecord; readonly isNew?: boolean }
    | { readonly kind: "removed"; readonly key: string }
    /** All sessions of that remote have left the list of an HQ. */
    | { readonly kind: "remote-left"; readonly remoteName: string };
};

/** All sessions of a source. Without a position: of a source that does not number its changes. */
export type SessionSnapshot = {
  readonly position: SourcePosition | undefined;
  readonly records: readonly SessionRecord[];
};

/** The answer to a request for the list. */
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
