import { type ReadonlySignal, signal } from "@preact/signals";
import { hasSecret, parseRoute, type Route, routeHash, type Secrets, secretsIn } from "./route.ts";

/** The address bar as a signal. */
export class AddressBar implements Disposable {
  readonly #route = signal<Route>({ view: "list" });
  readonly route: ReadonlySignal<Route> = this.#route;
  readonly #window: Window;
  readonly #changed = (): void => {
    // Handles a login link or share link that is opened in a tab of the page, as a new tab would.
    if (hasSecret(secretsIn(this.#window.location.hash))) this.#window.location.reload();
    else this.#read();
  };

  constructor(window: Window) {
    this.#window = window;
    this.#read();
    window.addEventListener("hashchange", this.#changed);
  }

  go(route: Route): void {
    const hash = routeHash(route);
    if (hash !== this.#window.location.hash) this.#window.history.pushState(undefined, "", hash);
    this.#read();
  }

  /** Like `go`, but replaces the current history entry. */
  replace(route: Route): void {
    this.#window.history.replaceState(undefined, "", routeHash(route));
    this.#read();
  }

  /** Removes the secret from the address and the history at once. */
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
