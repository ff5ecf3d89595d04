import { type ReadonlySignal, signal } from "@preact/signals";
import { loginTicket, parseRoute, type Route, routeHash } from "./route.ts";

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
