// The permissions of this login: the page offers only these. The server refuses everything else anyway.
import { type Signal, signal } from "@preact/signals";
import type { Permission } from "../../protocol/schemas/permission.ts";

/** "unknown": the server did not tell, and everything is offered. */
type Granted = ReadonlySet<string> | "unknown";

export class Permissions {
  readonly #ask: () => Promise<readonly string[]>;
  /** `undefined` until the first answer. */
  readonly #granted: Signal<Granted | undefined> = signal(undefined);
  readonly #first: Promise<void>;

  constructor(ask: () => Promise<readonly string[]>) {
    this.#ask = ask;
    this.#first = this.refresh();
  }

  /** False until the first answer. */
  has(permission: Permission): boolean {
    const granted = this.#granted.value;
    return granted === "unknown" || granted?.has(permission) === true;
  }

  get isKnown(): boolean {
    return this.#granted.value !== undefined;
  }

  /** Like `has`, after the first answer. */
  async grants(permission: Permission): Promise<boolean> {
    await this.#first;
    return this.has(permission);
  }

  /** Roles change while the page is open. Never rejects. */
  async refresh(): Promise<void> {
    try {
      this.#granted.value = new Set(await this.#ask());
    } catch {
      this.#granted.value ??= "unknown";
    }
  }
}
