// Who watches a session and who types, for the clients that request it. Other sessions cost nothing.
import { TYPING_SHOWN_MS, VIEWERS_INTERVAL_MS } from "../protocol/limits.ts";
import type { SessionViewer } from "../protocol/schemas/viewer.ts";
import type { Viewer, ViewerIdentity } from "./viewer/viewer.ts";

/** Characters of a guest's name. */
const MAX_NAME_LENGTH = 32;

/** The recipient. `id`: of a client; `undefined` for a REST request, where "you" are all connections of its user. */
type PresenceReader = Pick<ViewerIdentity, "user" | "kind"> & { readonly id: number | undefined };

/** `now`: milliseconds, monotonic. */
type PresenceHub = { readonly clients: readonly Viewer[]; readonly now: () => number };

export class Presence implements Disposable {
  readonly #hub: PresenceHub;
  /** The last reported state, by session. */
  #told = new Map<string, string>();
  /** Runs while a client asks. */
  #timer: NodeJS.Timeout | undefined;

  constructor(hub: PresenceHub) {
    this.#hub = hub;
  }

  /** The clients that watch the session. Guests are not told the names of users. */
  of(sessionId: string, reader: PresenceReader): SessionViewer[] {
    const now = this.#hub.now();
    return this.#watching(sessionId).map((viewer) => {
      const { kind, shareId, user, id } = viewer.identity;
      const isGuests = reader.kind === "guest";
      const isYou = reader.id === undefined ? !isGuests && user === reader.user : id === reader.id;
      return {
        ...{ name: isGuests && kind !== "guest" ? "User" : nameOf(viewer), kind, mayType: viewer.mayType },
        isTyping: now - viewer.typedAtMs(sessionId) < TYPING_SHOWN_MS,
        isYou,
        ...(isGuests || shareId === undefined ? {} : { shareId }),
      };
    });
  }

  /** The client asks about the session, and is told at once; later with each change, at most once a second. */
  tell(viewer: Viewer, sessionId: string): void {
    viewer.tellViewers(sessionId, this.of(sessionId, viewer.identity));
    if (!this.#told.has(sessionId)) this.#told.set(sessionId, this.#state(sessionId));
    this.#timer ??= setInterval(() => this.#tellAll(), VIEWERS_INTERVAL_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #tellAll(): void {
    const readers = Map.groupBy(
      this.#hub.clients.flatMap((viewer) => viewer.presenceIds.map((id) => ({ id, viewer }))),
      ({ id }) => id,
    );
    const before = this.#told;
    this.#told = new Map([...readers.keys()].map((id) => [id, this.#state(id)]));
    for (const [id, asking] of readers) {
      if (this.#told.get(id) === before.get(id)) continue;
      for (const { viewer } of asking) viewer.tellViewers(id, this.of(id, viewer.identity));
    }
    if (readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #state(sessionId: string): string {
    const viewers = this.of(sessionId, { id: undefined, user: "", kind: "login" });
    return JSON.stringify([viewers, this.#watching(sessionId).map(({ identity }) => identity.id)]);
  }

  #watching(sessionId: string): readonly Viewer[] {
    return this.#hub.clients.filter((viewer) => viewer.watches(sessionId));
  }
}

function nameOf({ hello, identity: { id, kind, user } }: Viewer): string {
  if (kind === "hq") return "HQ";
  if (kind !== "guest") return user;
  const name = guestName(hello?.name ?? "");
  return name === "" ? `Guest ${id}` : `${name} (guest)`;
}

/** The name that a guest chose, as one short line without invisible characters or ones that affect the text around them. */
export function guestName(text: string): string {
  const line = text.normalize("NFC").replace(/\s+/gu, " ").replace(/\p{C}/gu, "");
  const plain = line.replace(/(\p{M}{2})\p{M}+/gu, "$1").trim();
  return [...plain].slice(0, MAX_NAME_LENGTH).join("").trim();
}
