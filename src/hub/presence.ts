// Who watches a session and who types, for the clients that request it. Other sessions cost nothing.
import { MAX_TOLD_VIEWERS, TYPING_SHOWN_MS, VIEWERS_INTERVAL_MS } from "../protocol/limits.ts";
import type { SessionViewer, ViewerKind } from "../protocol/schemas/viewer.ts";
import type { ViewerIdentity } from "./viewer/hub-view.ts";
import type { Viewer } from "./viewer/viewer.ts";

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
    return seenBy(reader, this.#watching(sessionId, reader.kind), Number.POSITIVE_INFINITY);
  }

  /** The client asks about the session, and is told at once; later with each change, at most once a second. */
  tell(viewer: Viewer, sessionId: string): void {
    const { identity } = viewer;
    viewer.tellViewers(sessionId, seenBy(identity, this.#watching(sessionId, identity.kind)));
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
      const [toUsers, toGuests] = [this.#watching(id, "login"), this.#watching(id, "guest")];
      for (const { viewer } of asking) {
        const { identity } = viewer;
        viewer.tellViewers(id, seenBy(identity, identity.kind === "guest" ? toGuests : toUsers));
      }
    }
    if (readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #state(sessionId: string): string {
    return JSON.stringify(this.#watching(sessionId, "login"));
  }

  #watching(sessionId: string, readers: ViewerKind): readonly Watching[] {
    const now = this.#hub.now();
    const isForGuests = readers === "guest";
    return this.#hub.clients
      .filter((viewer) => viewer.watches(sessionId))
      .map((viewer) => {
        const { kind, shareId, user, id } = viewer.identity;
        const shown = {
          ...{ name: isForGuests && kind !== "guest" ? "User" : nameOf(viewer), kind },
          ...{ mayType: viewer.mayType, isYou: false },
          isTyping: now - viewer.typedAtMs(sessionId) < TYPING_SHOWN_MS,
          ...(isForGuests || shareId === undefined ? {} : { shareId }),
        };
        return { id, user, shown };
      });
  }
}

/** A client that watches, as others see it. */
type Watching = Pick<ViewerIdentity, "id" | "user"> & { readonly shown: SessionViewer };

/** `max`: of them, and the reader beyond. */
function seenBy(
  reader: PresenceReader,
  watching: readonly Watching[],
  max = MAX_TOLD_VIEWERS,
): SessionViewer[] {
  const isYou = ({ id, user }: Watching): boolean =>
    reader.id === undefined ? reader.kind !== "guest" && user === reader.user : id === reader.id;
  const seen = [...watching.slice(0, max), ...watching.slice(max).filter(isYou)];
  return seen.map((each) => (isYou(each) ? { ...each.shown, isYou: true } : each.shown));
}

function nameOf({ hello, identity: { id, kind, user } }: Viewer): string {
  if (kind === "hq") return "HQ";
  if (kind !== "guest") return user;
  return hello?.name ? `${hello.name} (guest)` : `Guest ${id}`;
}
