import type { ServerEvent } from "../protocol/frame/event.ts";

/** Events of one session that wait at most; over that bells and changes, of which others wait already, are left out. */
const MAX_WAITING_EVENTS = 64;

export type SessionEventsOptions = {
  /** Reads the session anew. Must not reject. */
  readonly look: (sessionId: string) => Promise<void>;
  readonly tell: (event: ServerEvent) => void;
};

/**
 * What is heard of a machine's sessions, told when the record that it speaks of was read: whoever is told and asks for
 * the list finds it there. In order for each session; one reading at a time, however many events there are.
 */
export class SessionEvents {
  readonly #options: SessionEventsOptions;
  readonly #waiting = new Map<string, ServerEvent[]>();

  constructor(options: SessionEventsOptions) {
    this.#options = options;
  }

  heard(sessionId: string, event: ServerEvent): void {
    const { tell } = this.#options;
    const waiting = this.#waiting.get(sessionId);
    if (event.type === "session-removed") {
      this.#waiting.delete(sessionId);
      for (const earlier of [...(waiting ?? []), event]) tell(earlier);
    } else if (waiting !== undefined) {
      const isSpare = event.type === "bell" || event.type === "session-changed";
      if (!isSpare || waiting.length < MAX_WAITING_EVENTS) waiting.push(event);
    } else if (event.type === "bell") {
      tell(event);
    } else {
      void this.#tellRead(sessionId, [event]);
    }
  }

  async #tellRead(sessionId: string, waiting: ServerEvent[]): Promise<void> {
    const { look, tell } = this.#options;
    this.#waiting.set(sessionId, waiting);
    while (waiting.length > 0) {
      // What comes during a reading may be newer than its answer.
      const count = waiting.length;
      await look(sessionId);
      // The session was removed meanwhile, and all was told.
      if (this.#waiting.get(sessionId) !== waiting) return;
      for (const event of waiting.splice(0, count)) tell(event);
    }
    this.#waiting.delete(sessionId);
  }
}
