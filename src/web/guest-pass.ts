// The token of a share link. It belongs to the tab that the link was opened in, and goes with it: the next one to use this
// browser is not invited, and whoever is logged in in another tab stays that.
import { z } from "zod";

const KEY = "ttyhq.guest";
const Stored = z.string().min(1).max(8_192);

export class GuestPass {
  readonly #storage: Storage;

  constructor(window: Pick<Window, "sessionStorage">) {
    this.#storage = window.sessionStorage;
  }

  read(): string | undefined {
    return Stored.safeParse(this.#storage.getItem(KEY)).data;
  }

  write(token: string): void {
    this.#storage.setItem(KEY, token);
  }

  clear(): void {
    this.#storage.removeItem(KEY);
  }
}
