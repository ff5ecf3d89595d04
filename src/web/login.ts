// Who uses the page. One state, from the first question to the server until the log out.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { TokenResponse } from "../protocol/auth.ts";
import { type Client, createClient } from "../protocol/client.ts";
import { ServiceError } from "../protocol/errors.ts";
import { fetchSend } from "../protocol/fetch-send.ts";
import { type StoredLogin, TokenStore } from "./token-store.ts";

export type LoginState =
  | { readonly kind: "checking" }
  /** `reason`: why the person has to log in, where there is something to say. */
  | { readonly kind: "out"; readonly reason?: string; readonly user?: string }
  | { readonly kind: "in"; readonly login: StoredLogin; readonly isOpenToAll: boolean }
  | { readonly kind: "unreachable"; readonly error: unknown };

/** Where no login is needed and a fresh token is refused, asking again at once would go on for ever. */
const SELF_LOGIN_INTERVAL_MS = 5_000;

export class Login implements Disposable {
  readonly #client: Client;
  readonly #store: TokenStore;
  readonly #state = signal<LoginState>({ kind: "checking" });
  #lastSelfLogin = Number.NEGATIVE_INFINITY;

  constructor(window: Window) {
    this.#client = createClient(fetchSend({ origin: "", token: () => undefined }));
    this.#store = new TokenStore(window, (login) => this.#changedElsewhere(login));
  }

  get state(): ReadonlySignal<LoginState> {
    return this.#state;
  }

  /** The token in force. */
  get token(): string | undefined {
    const state = this.#state.peek();
    return state.kind === "in" ? state.login.token : undefined;
  }

  /** Finds out whether there is anything to ask. `ticket`: of a one-time login link. */
  async start(ticket: string | undefined): Promise<void> {
    if (ticket !== undefined) return await this.#useTicket(ticket);
    const stored = this.#store.read();
    if (stored === undefined) await this.#ask(undefined);
    else this.#state.value = { kind: "in", login: stored, isOpenToAll: false };
  }

  /** Throws the server's refusal. An empty `username` leaves it to the server. */
  async withPassword(username: string, password: string): Promise<void> {
    const name = username === "" ? {} : { username };
    this.#enter(await this.#client.token({ ...name, password }));
  }

  /** The server refused this token: it is over, or was revoked. */
  refused(token: string): void {
    if (this.token !== token) return;
    this.#store.clear();
    void this.#ask("Your login has ended. Please log in again.");
  }

  async logOut(): Promise<void> {
    const { token } = this;
    // At once, so that the connection is closed and other tabs are told from here, and not by refusals.
    this.#store.clear();
    this.#state.value = { kind: "checking" };
    const client = createClient(fetchSend({ origin: "", token: () => token }));
    // Whatever the server says: here the person is out.
    await client.logout().catch(() => undefined);
    this.#state.value = { kind: "out", reason: "You are logged out." };
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }

  async #useTicket(ticket: string): Promise<void> {
    try {
      this.#enter(await this.#client.token({ ticket }));
    } catch (error) {
      const isRefused = error instanceof ServiceError && error.status === 401;
      const reason = "This login link was used already or is too old.";
      if (isRefused) await this.#ask(reason);
      else this.#state.value = { kind: "unreachable", error };
    }
  }

  /** Logs in by itself where the server lets everybody in, else asks the person. */
  async #ask(reason: string | undefined): Promise<void> {
    try {
      const config = await this.#client.authConfig();
      const isSoon = performance.now() - this.#lastSelfLogin < SELF_LOGIN_INTERVAL_MS;
      if (!config.noAuth || isSoon) {
        const user = config.user === undefined ? {} : { user: config.user };
        this.#state.value = { kind: "out", ...(reason === undefined ? {} : { reason }), ...user };
        return;
      }
      this.#lastSelfLogin = performance.now();
      this.#enter(await this.#client.token({}), true);
    } catch (error) {
      this.#state.value = { kind: "unreachable", error };
    }
  }

  #enter({ token, expiresIn, user }: TokenResponse, isOpenToAll = false): void {
    const login = { token, user, expiresAt: Date.now() + expiresIn * 1000 };
    // Nothing to keep where the next visit is let in as well.
    if (!isOpenToAll) this.#store.write(login);
    this.#state.value = { kind: "in", login, isOpenToAll };
  }

  #changedElsewhere(login: StoredLogin | undefined): void {
    const state = this.#state.peek();
    if (login !== undefined) this.#state.value = { kind: "in", login, isOpenToAll: false };
    else if (state.kind === "in" && !state.isOpenToAll) {
      this.#state.value = { kind: "out", reason: "You logged out in another window." };
    }
  }
}
