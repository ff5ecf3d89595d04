// Who watches a session and who types, for the clients that request it. Other sessions cost nothing.
import { TYPING_SHOWN_MS, VIEWERS_INTERVAL_MS } from "../protocol/limits.ts";
import type { SessionViewer } from "../protocol/schemas/viewer.ts";
import type { HubClient } from "./hub-client.ts";

/** Characters of a guest's name. */
const MAX_NAME_LENGTH = 32;

/** The recipient. `id`: of a client; `undefined` for a REST request, where "you" are all connections of its user. */
export type PresenceReader = Pick<HubClient, "user" | "kind"> & { readonly id: number | undefined };

/** `now`: milliseconds, monotonic. */
type PresenceHub = { readonly clients: readonly HubClient[]; readonly now: () => number };

export class Presence implements Disposable {
  readonly #hub: PresenceHub;
  /** The last reported state, by session. */
  #told = new Map<string, string>();
  /** Runs while a client asks. */
  #timer: NodeJS.Timeout | undefined;

  constructor(hub: PresenceHub) {
    this.#hub = hub;
  }

  /** Guests are not told the names of users. */
  of(sessionId: string, reader: PresenceReader): SessionViewer[] {
    const now = this.#hub.now();
    return this.#watching(sessionId).map((client) => {
      const { viewer, kind, shareId, user, id } = client;
      const isGuests = reader.kind === "guest";
      const isYou = reader.id === undefined ? !isGuests && user === reader.user : id === reader.id;
      return {
        ...{ name: isGuests && kind !== "guest" ? "User" : nameOf(client), kind, mayType: viewer.mayType },
        isTyping: now - viewer.typedAtMs(sessionId) < TYPING_SHOWN_MS,
        isYou,
        ...(isGuests || shareId === undefined ? {} : { shareId }),
      };
    });
  }

  /** The client asks about the session, and is told at once; later with each change, at most once a second. */
  tell(client: HubClient, sessionId: string): void {
    client.viewer.tellViewers(sessionId, this.of(sessionId, client));
    if (!this.#told.has(sessionId)) this.#told.set(sessionId, this.#state(sessionId));
    this.#timer ??= setInterval(() => this.#tellAll(), VIEWERS_INTERVAL_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #tellAll(): void {
    const readers = Map.groupBy(
      this.#hub.clients.flatMap((client) => client.viewer.presenceIds.map((id) => ({ id, client }))),
      ({ id }) => id,
    );
    const before = this.#told;
    this.#told = new Map([...readers.keys()].map((id) => [id, this.#state(id)]));
    for (const [id, asking] of readers) {
      if (this.#told.get(id) === before.get(id)) continue;
      for (const { client } of asking) client.viewer.tellViewers(id, this.of(id, client));
    }
    if (readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #state(sessionId: string): string {
    const viewers = this.of(sessionId, { id: undefined, user: "", kind: "login" });
    return JSON.stringify([viewers, this.#watching(sessionId).map(({ id }) => id)]);
  }

  #watching(sessionId: string): readonly HubClient[] {
    return this.#hub.clients.filter(({ viewer }) => viewer.watches(sessionId));
  }
}

function nameOf({ id, kind, user, viewer }: HubClient): string {
  if (kind === "hq") return "HQ";
  if (kind !== "guest") return user;
  const name = guestName(viewer.hello?.name ?? "");
  return name === "" ? `Guest ${id}` : `${name} (guest)`;
}

/** The name that a guest chose, as one short line without invisible characters or ones that affect the text around them. */
export function guestName(text: string): string {
  const line = text.normalize("NFC").replace(/\s+/gu, " ").replace(/\p{C}/gu, "");
  const plain = line.replace(/(\p{M}{2})\p{M}+/gu, "$1").trim();
  return [...plain].slice(0, MAX_NAME_LENGTH).join("").trim();
}
