import { type ReadonlySignal, signal } from "@preact/signals";
import { hasSecret, parseRoute, type Route, routeHash, type Secrets, secretsIn } from "./route.ts";

/** The address bar as a signal. */
export class AddressBar implements Disposable {
  readonly #route = signal<Route>({ view: "list" });
  readonly #window: Window;
  readonly #changed = (): void => {
    // A link that lets somebody in, opened in a tab where the page is: as if it had been opened in a new one.
    if (hasSecret(secretsIn(this.#window.location.hash))) this.#window.location.reload();
    else this.#read();
  };

  constructor(window: Window) {
    this.#window = window;
    this.#read();
    window.addEventListener("hashchange", this.#changed);
  }

  get route(): ReadonlySignal<Route> {
    return this.#route;
  }

  go(route: Route): void {
    const hash = routeHash(route);
    if (hash !== this.#window.location.hash) this.#window.history.pushState(undefined, "", hash);
    this.#read();
  }

  /** As `go`, in the place of where the page is: there is no way back to that. */
  replace(route: Route): void {
    this.#window.history.replaceState(undefined, "", routeHash(route));
    this.#read();
  }

  /** Takes what lets somebody in out of the address and the history at once. */
  takeSecrets(): Secrets {
    const secrets = secretsIn(this.#window.location.hash);
    if (!hasSecret(secrets)) return {};
    this.replace({ view: "list" });
    return secrets;
  }

  [Symbol.dispose](): void {
    this.#window.removeEventListener("hashchange", this.#changed);
  }

  #read(): void {
    this.#route.value = parseRoute(this.#window.location.hash);
  }
}
