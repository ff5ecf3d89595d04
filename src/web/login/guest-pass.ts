// The token of a share link. It belongs to the tab that opened the link and ends with it. So the next user of this
// browser is not a guest, and logins in other tabs stay.
import { z } from "zod";
import { BrowserStorage } from "../browser-storage.ts";

const KEY = "ttyhq.guest";
const Stored = z.string().min(1).max(8_192);

export class GuestPass {
  readonly #storage: BrowserStorage;

  constructor(window: Pick<Window, "sessionStorage">) {
    this.#storage = new BrowserStorage(() => window.sessionStorage);
  }

  read(): string | undefined {
    return Stored.safeParse(this.#storage.get(KEY)).data;
  }

  write(token: string): void {
    this.#storage.set(KEY, token);
  }

  clear(): void {
    this.#storage.delete(KEY);
  }
}
