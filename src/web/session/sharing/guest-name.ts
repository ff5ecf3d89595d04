// A guest's display name. It proves nothing: the server marks it as a guest's.
import { type ReadonlySignal, signal } from "@preact/signals";
import { BrowserStorage } from "../../browser-storage.ts";

const KEY = "ttyhq.guest-name";
/** The server shows at most as many characters. */
export const MAX_GUEST_NAME = 32;

export class GuestName {
  readonly #storage: BrowserStorage;
  readonly #onChange: () => void;
  /** Empty: the guest wants none; undefined: not asked yet. */
  readonly #answer;

  constructor(window: Pick<Window, "localStorage">, onChange: () => void) {
    this.#storage = new BrowserStorage(() => window.localStorage);
    this.#onChange = onChange;
    this.#answer = signal(this.#storage.get(KEY)?.slice(0, MAX_GUEST_NAME));
  }

  get answer(): ReadonlySignal<string | undefined> {
    return this.#answer;
  }

  get text(): string | undefined {
    const name = this.#answer.peek();
    return name === "" ? undefined : name;
  }

  choose(name: string): void {
    const answer = name.trim().slice(0, MAX_GUEST_NAME);
    this.#storage.set(KEY, answer);
    this.#answer.value = answer;
    this.#onChange();
  }
}
