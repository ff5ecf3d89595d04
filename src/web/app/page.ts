// The page's composition root: objects that live as long as the page, and the workspace of the current login.
import { computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { BrowserStorage } from "../browser-storage.ts";
import { Keyring } from "../login/keys/keyring.ts";
import { type Access, Login } from "../login/login.ts";
import { type ColorScheme, LIGHT, MediaWatch, NARROW } from "../media-watch.ts";
import { Preferences } from "../preferences.ts";
import { nameWords } from "../session/words.ts";
import { AddressBar } from "./address-bar.ts";
import { Notices } from "./notices.ts";
import { Workspace } from "./workspace.ts";

export class Page implements Disposable {
  readonly address: AddressBar;
  readonly login: Login;
  readonly keyring: Keyring;
  readonly notices = new Notices();
  readonly preferences: Preferences;
  /** The system's preference, which may change. */
  readonly scheme: ReadonlySignal<ColorScheme>;
  /** Whether the list and a session do not fit beside each other. */
  readonly narrow: MediaWatch;
  readonly clock = new Clock();
  readonly #window: Window & typeof globalThis;
  readonly #workspace = signal<Workspace | undefined>(undefined);
  /** Undefined without a login. */
  readonly workspace: ReadonlySignal<Workspace | undefined> = this.#workspace;
  readonly #scope = new DisposableStack();

  constructor(window: Window & typeof globalThis) {
    this.#window = window;
    this.preferences = new Preferences(new BrowserStorage(() => window.localStorage));
    this.address = this.#scope.use(new AddressBar(window));
    this.login = this.#scope.use(new Login(window));
    this.keyring = this.#scope.use(new Keyring(window));
    const { matches: isLight } = this.#scope.use(new MediaWatch(window, LIGHT));
    this.scheme = computed(() => (isLight.value ? "light" : "dark"));
    this.narrow = this.#scope.use(new MediaWatch(window, NARROW));
    this.#scope.use(this.notices);
    this.#scope.use(this.clock);
    this.#scope.defer(() => this.#leave());
    this.#scope.defer(effect(() => this.#followLogin()));
    this.#scope.defer(
      effect(() => {
        window.document.title = this.#title();
      }),
    );
    void this.login.start(this.address.takeSecrets());
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #followLogin(): void {
    const state = this.login.state.value;
    const access = state.kind === "in" ? state.access : undefined;
    if (isSameUser(access, this.#workspace.peek()?.access)) return;
    untracked(() => {
      this.#leave();
      if (access !== undefined) this.#enter(access);
    });
  }

  #enter(access: Access): void {
    const { login, address, notices, preferences, scheme } = this;
    this.#workspace.value = new Workspace({
      window: this.#window,
      login,
      access,
      address,
      notices,
      preferences,
      scheme,
      isNarrow: this.narrow.matches,
    });
  }

  #leave(): void {
    this.#workspace.peek()?.[Symbol.dispose]();
    this.#workspace.value = undefined;
  }

  #title(): string {
    const workspace = this.#workspace.value;
    const open = workspace?.panes.focused.value;
    if (workspace === undefined || open === undefined) return "ttyhq";
    const record = workspace.sessions.record(open.id);
    const name = open.title.value ?? record?.title ?? (record ? nameWords(record) : "session");
    const bell = workspace.sessions.rung.value.has(open.id) ? "🔔 " : "";
    return `${bell}${name} – ttyhq`;
  }
}

/** Whether the workspace may stay when the credentials change, as with a new token of the same user. */
function isSameUser(one: Access | undefined, other: Access | undefined): boolean {
  return one?.kind === other?.kind && userOf(one) === userOf(other);
}

/** Undefined for guests, whose link stays the same as long as the page. */
function userOf(access: Access | undefined): string | undefined {
  return access === undefined || access.kind === "guest" ? undefined : access.user;
}

/** The coarsest interval for ages in minutes. */
const TICK_MS = 20_000;

export class Clock implements Disposable {
  readonly #now = signal(Date.now());
  /** Milliseconds since 1970. */
  readonly now: ReadonlySignal<number> = this.#now;
  readonly #timer = setInterval(() => {
    this.#now.value = Date.now();
  }, TICK_MS);

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
