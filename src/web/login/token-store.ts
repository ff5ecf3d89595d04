// The access token between two visits. It is in localStorage, not in sessionStorage: sessions are opened in new tabs
// and from bookmarks, and each of those would ask for the password again. The token ends by itself after 24 hours. "Log
// out" revokes it at the server and, through the storage event, logs out every tab. Script that could read it could act
// in the page anyway; the Content-Security-Policy keeps such script out.
import { z } from "zod";
import { parseJson } from "../../protocol/json.ts";
import { BrowserStorage, type StorageWindow } from "../browser-storage.ts";

const KEY = "ttyhq.login";

export const StoredLogin = z.object({ token: z.string(), user: z.string(), expiresAt: z.number() });
export type StoredLogin = z.infer<typeof StoredLogin>;

export class TokenStore implements Disposable {
  readonly #window: StorageWindow;
  readonly #storage: BrowserStorage;
  readonly #onChange: (login: StoredLogin | undefined) => void;
  readonly #listen = (event: StorageEvent): void => {
    if (event.key === KEY) this.#onChange(this.read());
  };

  /** `onChange` is called for changes in other tabs. */
  constructor(window: StorageWindow, onChange: (login: StoredLogin | undefined) => void) {
    this.#window = window;
    this.#storage = new BrowserStorage(() => window.localStorage);
    this.#onChange = onChange;
    window.addEventListener("storage", this.#listen);
  }

  /** Undefined if it is absent, unreadable or expired. */
  read(now: number = Date.now()): StoredLogin | undefined {
    const stored = StoredLogin.safeParse(parseJson(this.#storage.get(KEY) ?? ""));
    return stored.success && stored.data.expiresAt > now ? stored.data : undefined;
  }

  write(login: StoredLogin): void {
    this.#storage.set(KEY, JSON.stringify(login));
  }

  clear(): void {
    this.#storage.delete(KEY);
  }

  [Symbol.dispose](): void {
    this.#window.removeEventListener("storage", this.#listen);
  }
}
