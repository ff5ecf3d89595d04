// The user of the page. One state, from the first request to the log out.
import { type ReadonlySignal, signal } from "@preact/signals";
import { z } from "zod";
import { type Client, createClient } from "../../protocol/client/client.ts";
import { fetchSend } from "../../protocol/client/fetch-send.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { AuthConfig, ProxyUser, TokenResponse } from "../../protocol/schemas/auth.ts";
import { LoginQuestion } from "../../protocol/schemas/login-question.ts";
import { SecondFactorChallenge, type SecondFactorProof } from "../../protocol/schemas/passkey.ts";
import type { Secrets } from "../app/route.ts";
import { BrowserStorage, type StorageWindow } from "../browser-storage.ts";
import { sentence } from "../sentence.ts";
import { answerChallenge } from "./keys/challenge.ts";
import type { OpenKey } from "./keys/keyring.ts";
import { type StoredLogin, TokenStore } from "./token-store.ts";

/** The credentials that admit the page. */
export type Access =
  /** A login that the user can end. */
  | { readonly kind: "login"; readonly user: string; readonly token: string }
  /** The server requires no login. */
  | { readonly kind: "open"; readonly user: string; readonly token: string }
  /** The server identifies the caller without a token: by a proxy, or because it is on this machine. */
  | {
      readonly kind: "known";
      readonly user: string;
      readonly token: undefined;
      /** The proxy's data about this user. */
      readonly profile: ProxyUser | undefined;
      /** The proxy's log out, if it has one. */
      readonly logoutPath: string | undefined;
    }
  /** A link that opens one session. */
  | { readonly kind: "guest"; readonly token: string };

export type LoginState =
  | { readonly kind: "checking" }
  /** `reason`: why the person has to log in, if that needs explaining. */
  | { readonly kind: "out"; readonly config: AuthConfig; readonly reason: string | undefined }
  /** The system asks for more than the password. `back`: the login before it. */
  | { readonly kind: "question"; readonly question: LoginQuestion; readonly back: LoginState }
  /** The password was right. `codes`: recovery codes to show first. `back`: the login before it. */
  | {
      readonly kind: "second-factor";
      readonly challenge: SecondFactorChallenge;
      readonly words: string;
      readonly codes: readonly string[] | undefined;
      readonly back: LoginState;
    }
  | { readonly kind: "in"; readonly access: Access }
  /** The share link no longer opens the session. */
  | { readonly kind: "uninvited" }
  | { readonly kind: "unreachable"; readonly error: unknown };

const GUEST_KEY = "ttyhq.guest";
const GuestToken = z.string().min(1).max(8_192);
/** If no login is required but requests are refused, retrying at once would loop forever. */
const SELF_LOGIN_INTERVAL_MS = 5_000;

export type LoginWindow = StorageWindow &
  Pick<Window, "sessionStorage"> & { readonly location: Pick<Location, "reload"> };

export class Login implements Disposable {
  readonly #window: LoginWindow;
  readonly #client: Client;
  readonly #store: TokenStore;
  /**
   * Of this tab. The token of a share link ends with the tab, so the next user of this browser is not a guest, and logins in
   * other tabs stay.
   */
  readonly #tab: BrowserStorage;
  readonly #state = signal<LoginState>({ kind: "checking" });
  readonly state: ReadonlySignal<LoginState> = this.#state;
  /** The login is complete; its recovery codes are still shown. */
  #made: TokenResponse | undefined;
  #lastSelfLogin = Number.NEGATIVE_INFINITY;
  /** Whether a refusal is already being handled. */
  #over: Access | undefined;

  constructor(window: LoginWindow) {
    this.#window = window;
    this.#client = createClient(fetchSend({ origin: "", token: () => undefined }));
    this.#store = new TokenStore(window, (login) => this.#changedElsewhere(login));
    this.#tab = new BrowserStorage(() => window.sessionStorage);
  }

  /** The current token. */
  get token(): string | undefined {
    return this.#access?.token;
  }

  /** Finds out whether a login is needed. `secrets`: those of the initial address. */
  async start({ ticket, share }: Secrets): Promise<void> {
    if (share !== undefined) this.#tab.set(GUEST_KEY, share);
    // A login link in a guest's tab ends the guest access.
    if (ticket !== undefined) this.#tab.delete(GUEST_KEY);
    if (ticket !== undefined) return await this.#useTicket(ticket);
    const pass = GuestToken.safeParse(this.#tab.get(GUEST_KEY)).data;
    const stored = this.#store.read();
    if (pass !== undefined) this.#let({ kind: "guest", token: pass });
    else if (stored === undefined) await this.#ask(undefined);
    else this.#let(loginOf(stored));
  }

  /** Throws the server's refusal. An empty `username` leaves it to the server. */
  async withPassword(username: string, password: string): Promise<void> {
    const back = this.#state.peek();
    await this.#goOn(
      this.#client.call(endpoints.createToken, { body: { ...nameOf(username), password } }),
      back,
    );
  }

  /** Logs in, or shows the next question. Refused answers lead back: each question accepts one answer. */
  async withAnswers(answers: readonly string[]): Promise<void> {
    const state = this.#state.peek();
    if (state.kind !== "question") return;
    const { challengeId } = state.question;
    const body = { challengeId, answers: [...answers] };
    try {
      await this.#goOn(this.#client.call(endpoints.answerLogin, { body }), state.back);
    } catch (error) {
      this.#goBack(error, state.back);
    }
  }

  /** Logs in, or shows the recovery codes first. A refused proof leads back: each challenge accepts one answer. */
  async withSecondFactor(proof: Omit<SecondFactorProof, "challengeId">): Promise<void> {
    const state = this.#state.peek();
    if (state.kind !== "second-factor") return;
    const { challengeId } = state.challenge;
    try {
      const response = await this.#client.call(endpoints.secondFactor, { body: { challengeId, ...proof } });
      const { recoveryCodes: codes } = response;
      this.#made = response;
      if (codes === undefined) this.goIn();
      else this.#state.value = { ...state, codes };
    } catch (error) {
      this.#goBack(error, state.back);
    }
  }

  /** Continues with the login that a second factor completed. */
  goIn(): void {
    if (this.#made !== undefined) this.#keep(this.#made);
    this.#made = undefined;
  }

  /** Back to the login. */
  giveUp(): void {
    const state = this.#state.peek();
    if (state.kind === "second-factor" || state.kind === "question") this.#state.value = state.back;
  }

  /** Like withPassword, with a signature of the key. */
  async withKey(username: string, key: OpenKey): Promise<void> {
    const { challenge, challengeId } = await this.#client.call(endpoints.createChallenge, {
      body: username === "" ? {} : { userId: username },
    });
    const answer = await answerChallenge(key, challenge);
    const response = await this.#client.call(endpoints.sshLogin, { body: { challengeId, ...answer } });
    key.usedBy(username);
    this.#keep(response);
  }

  /** The user for logins without a name, who may not be allowed to log in. */
  async defaultUser(): Promise<string> {
    return (await this.#client.call(endpoints.currentUser)).userId;
  }

  /** The server refused the credentials: they expired or were revoked. `token`: that of the request. */
  refused(token: string | undefined): void {
    const access = this.#access;
    if (access === undefined || access.token !== token || access === this.#over) return;
    this.#over = access;
    if (access.kind === "guest") {
      this.#tab.delete(GUEST_KEY);
      this.#state.value = { kind: "uninvited" };
      return;
    }
    if (access.kind === "login") this.#store.clear();
    void this.#ask("Your login has ended. Please log in again.");
  }

  async logOut(): Promise<void> {
    const { token } = this;
    // Closes the connection and notifies other tabs at once, instead of by refusals.
    this.#store.clear();
    const leaving = { kind: "checking" } as const;
    this.#state.value = leaving;
    const client = createClient(fetchSend({ origin: "", token: () => token }));
    // The page logs out regardless of the server's answer.
    await client.call(endpoints.logout).catch(() => undefined);
    // Another tab may have logged in meanwhile.
    if (this.#state.peek() === leaving) await this.#leave("You are logged out.");
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }

  get #access(): Access | undefined {
    const state = this.#state.peek();
    return state.kind === "in" ? state.access : undefined;
  }

  async #useTicket(ticket: string): Promise<void> {
    try {
      this.#keep(await this.#client.call(endpoints.createToken, { body: { ticket } }));
    } catch (error) {
      const isRefused = error instanceof ServiceError && error.status === 401;
      const reason = "This login link has already been used or has expired.";
      if (isRefused) await this.#ask(reason);
      else this.#state.value = { kind: "unreachable", error };
    }
  }

  /** Logs in if the server admits everybody or identifies the caller, otherwise shows the login. */
  async #ask(reason: string | undefined): Promise<void> {
    const before = this.#state.peek();
    try {
      const config = await this.#client.call(endpoints.authConfig);
      // Another tab may have logged in meanwhile, or this one out.
      if (this.#state.peek() !== before) return;
      const isSoon = performance.now() - this.#lastSelfLogin < SELF_LOGIN_INTERVAL_MS;
      const isLetIn = config.noAuth || config.user !== undefined;
      if (isLetIn && !isSoon) await this.#letSelfIn(config);
      else this.#state.value = { kind: "out", config, reason };
    } catch (error) {
      if (this.#state.peek() !== before) return;
      this.#state.value = { kind: "unreachable", error };
      if (error instanceof ServiceError && error.status === 401) this.#askProxy();
    }
  }

  /** Only a proxy answers that: reloading the page leads to the proxy's login. Not repeatedly, if it does not help. */
  #askProxy(): void {
    if (performance.now() > SELF_LOGIN_INTERVAL_MS) this.#window.location.reload();
  }

  async #letSelfIn({ noAuth, user = "", logoutPath, proxyUser: profile }: AuthConfig): Promise<void> {
    this.#lastSelfLogin = performance.now();
    if (!noAuth) return this.#let({ kind: "known", user, token: undefined, profile, logoutPath });
    // Nothing to store if the next visit is admitted the same way.
    const response = await this.#client.call(endpoints.createToken, { body: {} });
    this.#let({ kind: "open", user: response.user, token: response.token });
  }

  /** Shows the login methods without using one: the person wanted to log out. */
  async #leave(reason: string): Promise<void> {
    const checking = { kind: "checking" } as const;
    this.#state.value = checking;
    const next = await this.#client.call(endpoints.authConfig).then(
      (config) => ({ kind: "out", config, reason }) as const,
      (error: unknown) => ({ kind: "unreachable", error }) as const,
    );
    // Another tab may have logged in meanwhile.
    if (this.#state.peek() === checking) this.#state.value = next;
  }

  /** Logs in, or shows the server's next question. */
  async #goOn(response: Promise<TokenResponse>, back: LoginState): Promise<void> {
    try {
      this.#keep(await response);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === "login_question") {
        this.#state.value = { kind: "question", question: LoginQuestion.parse(error.details), back };
      } else if (error.code === "second_factor_required") {
        const challenge = SecondFactorChallenge.parse(error.details);
        const words = sentence(error.message);
        this.#state.value = { kind: "second-factor", challenge, words, codes: undefined, back };
      } else throw error;
    }
  }

  /** Back to the login after a refusal; throws all other errors. */
  #goBack(error: unknown, back: LoginState): void {
    if (!(error instanceof ServiceError) || error.status !== 401 || back.kind !== "out") throw error;
    this.#state.value = { ...back, reason: `${sentence(error.message)} Please log in again.` };
  }

  #keep(response: TokenResponse): void {
    const login = storedOf(response);
    this.#store.write(login);
    this.#let(loginOf(login));
  }

  #let(access: Access): void {
    this.#state.value = { kind: "in", access };
  }

  #changedElsewhere(login: StoredLogin | undefined): void {
    const access = this.#access;
    // Other tabs do not affect a guest's tab.
    if (access?.kind === "guest" || this.#state.peek().kind === "uninvited") return;
    if (login !== undefined) this.#let(loginOf(login));
    else if (access?.kind === "login") void this.#leave("You logged out in another window.");
  }
}

function storedOf({ token, expiresIn, user }: TokenResponse): StoredLogin {
  return { token, user, expiresAt: Date.now() + expiresIn * 1000 };
}

function loginOf({ user, token }: StoredLogin): Access {
  return { kind: "login", user, token };
}

function nameOf(username: string): { readonly username?: string } {
  return username === "" ? {} : { username };
}
