import { Helper } from "./helper.ts";
import type { SimulatorCalls } from "./simulator-calls.ts";

/** In addition to the time of the events themselves. */
const STIR_GRACE_MS = 30_000;

/** Remotes of an HQ without terminals, in a separate process. Disposal ends them without notice. */
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

  /** All join that HQ at once; resolves when each was accepted. */
  async join(hq: string): Promise<void> {
    await this.#helper.call("join", [hq]);
  }

  /** Sends that many session events, evenly spread over all remotes and that time; resolves when they were sent. */
  async stir(events: number, durationMs: number): Promise<void> {
    await this.#helper.call("stir", [events, durationMs], durationMs + STIR_GRACE_MS);
  }

  /** One of them accepts connections and answers nothing from now on. */
  async hang(): Promise<void> {
    await this.#helper.call("hang", []);
  }

  [Symbol.dispose](): void {
    this.#helper[Symbol.dispose]();
  }
}
