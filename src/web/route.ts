// Where the page is, kept in the address so that reload, bookmarks, back and forward work. The part after `#` never
// reaches a server, which is why a login ticket may stand there.
import { type ReadonlySignal, signal } from "@preact/signals";
import { SessionId } from "../protocol/session.ts";

export type Route =
  | { readonly view: "list" }
  | { readonly view: "new" }
  | { readonly view: "session"; readonly id: string };

/** `#/`, `#/new`, `#/s/ID`; anything else is the list. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#/, "");
  if (path === "/new") return { view: "new" };
  const id = SessionId.safeParse(/^\/s\/([^/]+)$/.exec(path)?.[1]);
  return id.success ? { view: "session", id: id.data } : { view: "list" };
}

export function routeHash(route: Route): string {
  if (route.view === "session") return `#/s/${route.id}`;
  return route.view === "new" ? "#/new" : "#/";
}

/** The one-time ticket of a login link (`#login=TICKET`), if the address is one. */
export function loginTicket(hash: string): string | undefined {
  return /^#login=([A-Za-z0-9._~-]+)$/.exec(hash)?.[1];
}

/** The address bar as a signal. */
export class AddressBar implements Disposable {
  readonly #route = signal<Route>({ view: "list" });
  readonly #window: Window;
  readonly #read = (): void => {
    this.#route.value = parseRoute(this.#window.location.hash);
  };

  constructor(window: Window) {
    this.#window = window;
    this.#read();
    window.addEventListener("hashchange", this.#read);
  }

  get route(): ReadonlySignal<Route> {
    return this.#route;
  }

  go(route: Route): void {
    this.#window.location.hash = routeHash(route);
  }

  /** Reads the login ticket and takes it out of the address and the history at once: it is a secret until it is used. */
  takeTicket(): string | undefined {
    const ticket = loginTicket(this.#window.location.hash);
    if (ticket === undefined) return undefined;
    this.#window.history.replaceState(undefined, "", routeHash({ view: "list" }));
    this.#read();
    return ticket;
  }

  [Symbol.dispose](): void {
    this.#window.removeEventListener("hashchange", this.#read);
  }
}
