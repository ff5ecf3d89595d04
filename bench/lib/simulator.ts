import { Helper } from "./helper.ts";
import type { SimulatorCalls } from "./simulator-calls.ts";

/** Beyond the time that the events themselves take. */
const STIR_GRACE_MS = 30_000;

/** Remotes of an HQ that have no terminals, in a process of their own. Disposing of it ends them without a word. */
export class Simulator implements Disposable {
  readonly #helper: Helper<SimulatorCalls>;

  /** Each remote listens at an origin of its own. */
  static async open(remotes: number, sessionsEach: number): Promise<Simulator> {
    const simulator = new Simulator();
    try {
      await simulator.#helper.call("open", [remotes, sessionsEach]);
      return simulator;
    } catch (error) {
      simulator[Symbol.dispose]();
      throw error;
    }
  }

  private constructor() {
    this.#helper = new Helper(new URL("simulator-main.ts", import.meta.url), "the simulated remotes");
  }

  get pid(): number {
    return this.#helper.pid;
  }

  /** All join that HQ at once; resolves when each was told that it is in. */
  async join(hq: string): Promise<void> {
    await this.#helper.call("join", [hq]);
  }

  /** So many events of sessions, evenly spread over all remotes and that time; resolves when they were sent. */
  async stir(events: number, durationMs: number): Promise<void> {
    await this.#helper.call("stir", [events, durationMs], durationMs + STIR_GRACE_MS);
  }

  /** One of them takes connections and answers nothing from now on. */
  async hang(): Promise<void> {
    await this.#helper.call("hang", []);
  }

  [Symbol.dispose](): void {
    this.#helper[Symbol.dispose]();
  }
}
