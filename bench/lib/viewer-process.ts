import type { Expectation } from "./expected-output.ts";
import { Helper } from "./helper.ts";
import type { Sight } from "./viewer.ts";
import type { Until, ViewerCalls } from "./viewer-calls.ts";
import type { ViewerPlan } from "./viewer-plan.ts";

type ViewerHelper = Helper<ViewerCalls>;

/** A separate process for viewers; disposal closes them all. */
export class ViewerProcess implements Disposable {
  readonly #helper: ViewerHelper = new Helper(new URL("viewer-main.ts", import.meta.url), "the viewers");

  get pid(): number {
    return this.#helper.pid;
  }

  async create(plan: ViewerPlan): Promise<void> {
    await this.#helper.call("create", [plan]);
  }

  async open(plan: ViewerPlan, expectation: Expectation): Promise<RemoteViewer> {
    const { viewer, beganUs } = await this.#helper.call("open", [plan, expectation]);
    return new RemoteViewer(this.#helper, viewer, beganUs);
  }

  /** Types a key for each viewer, one after the other; returns the time of the first. */
  async press(viewers: readonly RemoteViewer[]): Promise<number> {
    return await this.#helper.call("press", [viewers.map((viewer) => viewer.number)]);
  }

  [Symbol.dispose](): void {
    this.#helper[Symbol.dispose]();
  }
}

/** A viewer in another process. */
export class RemoteViewer {
  readonly number: number;
  /** When it began to create its session or to connect. */
  readonly beganUs: number;
  readonly #helper: Pick<ViewerHelper, "call">;

  constructor(helper: Pick<ViewerHelper, "call">, number: number, beganUs: number) {
    this.#helper = helper;
    this.number = number;
    this.beganUs = beganUs;
  }

  async wait(until: Until): Promise<Sight> {
    return await this.#helper.call("wait", [this.number, until]);
  }

  async sight(): Promise<Sight> {
    return await this.#helper.call("sight", [this.number]);
  }

  async echo(count: number, gapMs: number): Promise<number[]> {
    return await this.#helper.call("echo", [this.number, count, gapMs]);
  }

  async pause(): Promise<void> {
    await this.#helper.call("pause", [this.number]);
  }

  /** When it began to read again. */
  async resume(): Promise<number> {
    return await this.#helper.call("resume", [this.number]);
  }

  async throttle(bytesPerSecond: number | undefined): Promise<number> {
    return await this.#helper.call("throttle", [this.number, bytesPerSecond]);
  }

  async close(): Promise<void> {
    await this.#helper.call("close", [this.number]);
  }
}
