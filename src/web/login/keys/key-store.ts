// The keys of this browser. Each has its own entry in localStorage, named after its public key. So two tabs that add
// keys at the same time do not overwrite each other, and unreadable entries stay.
import { type ReadonlySignal, signal } from "@preact/signals";
import { ServiceError } from "../../../protocol/errors.ts";
import { parseJson } from "../../../protocol/json.ts";
import { opened, type StorageWindow } from "../../browser-storage.ts";
import { keyRefusal } from "./key-refusal.ts";
import { StoredKey } from "./stored-key.ts";

const PREFIX = "ttyhq.key.";
/** More than anybody uses; further keys are refused. */
const MAX_KEYS = 32;

export class KeyStore implements Disposable {
  readonly #window: StorageWindow;
  readonly #keys = signal<readonly StoredKey[]>([]);
  /** In the order in which they were added. */
  readonly keys: ReadonlySignal<readonly StoredKey[]> = this.#keys;
  readonly #listen = ({ key }: StorageEvent): void => {
    // A storage event without a key means that everything was cleared.
    if (key === null || key.startsWith(PREFIX)) this.#read();
  };

  constructor(window: StorageWindow) {
    this.#window = window;
    this.#read();
    window.addEventListener("storage", this.#listen);
  }

  /** Throws ServiceError `invalid_request` if it exists already or the store is full. */
  add(key: StoredKey): void {
    const known = this.#keys.peek().find(({ publicKey }) => publicKey === key.publicKey);
    if (known !== undefined) throw keyRefusal(`this browser already has this key, named “${known.name}”`);
    if (this.#keys.peek().length >= MAX_KEYS) {
      throw keyRefusal(`there are ${MAX_KEYS} keys in this browser: remove one that you no longer use`);
    }
    this.#write(key);
  }

  /** Stores who logged in with it last. */
  usedBy(publicKey: string, user: string): void {
    const key = this.#keys.peek().find((known) => known.publicKey === publicKey);
    if (key === undefined || key.user === user) return;
    try {
      this.#write({ ...key, user });
    } catch {
      // Only a default for the next login: this one has succeeded.
    }
  }

  remove({ publicKey }: Pick<StoredKey, "publicKey">): void {
    this.#window.localStorage.removeItem(PREFIX + publicKey);
    this.#read();
  }

  [Symbol.dispose](): void {
    this.#window.removeEventListener("storage", this.#listen);
  }

  #write(key: StoredKey): void {
    try {
      this.#window.localStorage.setItem(PREFIX + key.publicKey, JSON.stringify(key));
    } catch (cause) {
      throw new ServiceError(
        "invalid_request",
        "this browser cannot store the key: its storage is full or blocked",
        {
          cause,
        },
      );
    }
    this.#read();
  }

  #read(): void {
    const storage = opened(() => this.#window.localStorage);
    const names = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
    this.#keys.value = names
      .filter((name) => name.startsWith(PREFIX))
      .flatMap((name) => {
        const key = StoredKey.safeParse(parseJson(storage?.getItem(name) ?? "")).data;
        return key !== undefined && name === PREFIX + key.publicKey ? [key] : [];
      })
      .toSorted((one, other) => one.addedAt - other.addedAt);
  }
}
