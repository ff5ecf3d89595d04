import { type ChildProcess, fork } from "node:child_process";
import { withDeadline } from "../../src/lib/deadline.ts";
import type { Expectation } from "./expected-output.ts";
import type { Sight } from "./viewer.ts";
import type { AnswerMessage, CallMessage, Until, ViewerCalls } from "./viewer-call.ts";
import type { ViewerPlan } from "./viewer-plan.ts";

/** The longest that any one call may take. */
const CALL_TIMEOUT_MS = 60_000;

type Answer<N extends keyof ViewerCalls> = Awaited<ReturnType<ViewerCalls[N]>>;

/** A process of its own for viewers, so that they do not slow down what measures; disposing of it closes them all. */
export class ViewerProcess implements Disposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: AnswerMessage) => void>();
  #lastId = 0;

  constructor() {
    const main = new URL("viewer-main.ts", import.meta.url).pathname;
    this.#child = fork(main, { serialization: "advanced", stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (answer: AnswerMessage) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    this.#child.on("exit", () => {
      for (const [id, give] of this.#waiting) give({ id, error: "the viewers' process ended" });
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async create(plan: ViewerPlan): Promise<void> {
    await this.#call("create", [plan]);
  }

  async open(plan: ViewerPlan, expectation: Expectation): Promise<RemoteViewer> {
    const { viewer, beganUs } = await this.#call("open", [plan, expectation]);
    return new RemoteViewer((name, words) => this.#call(name, [viewer, ...words]), viewer, beganUs);
  }

  /** Types a key for each viewer, one after the other; the time of the first. */
  async press(viewers: readonly RemoteViewer[]): Promise<number> {
    return await this.#call("press", [viewers.map((viewer) => viewer.number)]);
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }

  async #call<N extends keyof ViewerCalls>(name: N, words: readonly unknown[]): Promise<Answer<N>> {
    const message: CallMessage = { id: ++this.#lastId, name, words };
    const answered = new Promise<AnswerMessage>((resolve) => this.#waiting.set(message.id, resolve));
    this.#child.send(message);
    const answer = await withDeadline(answered, CALL_TIMEOUT_MS, `${name} of a viewer`);
    if ("error" in answer) throw new Error(`${name}: ${answer.error}`);
    // Both sides of this channel are the types of viewer-call.ts, which a message cannot carry.
    return answer.value as Answer<N>;
  }
}

type Caller = <N extends keyof ViewerCalls>(name: N, words: readonly unknown[]) => Promise<Answer<N>>;

/** A viewer in another process. */
export class RemoteViewer {
  readonly number: number;
  /** When its session began to be made or its connection to be opened. */
  readonly beganUs: number;
  readonly #call: Caller;

  constructor(call: Caller, number: number, beganUs: number) {
    this.#call = call;
    this.number = number;
    this.beganUs = beganUs;
  }

  async wait(until: Until): Promise<Sight> {
    return await this.#call("wait", [until]);
  }

  async sight(): Promise<Sight> {
    return await this.#call("sight", []);
  }

  async echo(count: number, gapMs: number): Promise<number[]> {
    return await this.#call("echo", [count, gapMs]);
  }

  async pause(): Promise<void> {
    await this.#call("pause", []);
  }

  /** When it began to read again. */
  async resume(): Promise<number> {
    return await this.#call("resume", []);
  }

  async throttle(bytesPerSecond: number | undefined): Promise<number> {
    return await this.#call("throttle", [bytesPerSecond]);
  }

  async close(): Promise<void> {
    await this.#call("close", []);
  }
}
