import { request } from "node:http";
import { nowUs } from "./clock.ts";
import { type Dialect, dialectOf, type OutputSink } from "./dialect.ts";
import { type ExpectedOutput, PREAMBLE } from "./expected-output.ts";
import type { ViewerPlan } from "./viewer-plan.ts";
import { WebSocketClient } from "./websocket.ts";

/** A viewer's state. Times are those of nowUs(). */
export type Sight = {
  /** Received bytes of output. */
  readonly bytes: number;
  /** This viewer's position in the session's output. */
  readonly position: number;
  readonly firstUs: number | undefined;
  /** When the last expected byte arrived. */
  readonly wholeUs: number | undefined;
  readonly resyncs: number;
  /** The fault: a wrong byte, a gap, an error of the server. */
  readonly error: string | undefined;
};

const KEY = Uint8Array.of("k".charCodeAt(0));

/** Watches one session and compares every byte with the program's output. */
export class Viewer implements Disposable, OutputSink {
  readonly #expected: ExpectedOutput;
  readonly #dialect: Dialect;
  readonly #client: WebSocketClient;
  readonly #subscribed = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #whole = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  #position: number;
  #bytes = 0;
  #resyncs = 0;
  #firstUs: number | undefined;
  #wholeUs: number | undefined;
  #error: string | undefined;
  #isDisposed = false;
  #awaitsEcho: ((us: number) => void) | undefined;

  constructor(plan: ViewerPlan, expected: ExpectedOutput) {
    this.#expected = expected;
    this.#position = plan.speech.kind === "v3" ? plan.speech.from : plan.isLate ? PREAMBLE.length : 0;
    this.#dialect = dialectOf(plan.speech, this);
    for (const wait of [this.#subscribed, this.#ready, this.#whole]) wait.promise.catch(() => {});
    const subprotocol = plan.speech.kind === "ttyd" ? { subprotocol: "tty" } : {};
    this.#client = new WebSocketClient(
      { port: plan.port, path: plan.path, ...subprotocol },
      {
        begin: () => this.#dialect.begin(),
        piece: (bytes) => this.#dialect.piece(bytes),
        end: () => this.#dialect.end(),
        closed: (reason) => this.#lose(reason),
      },
    );
  }

  /** Connects and subscribes; resolves when the server has accepted. */
  async open(): Promise<void> {
    await this.#client.opened;
    for (const message of this.#dialect.opening) this.#client.send(message);
    if (this.#dialect.confirms) await this.#subscribed.promise;
  }

  /** Resolves when the program's first line has arrived. */
  async ready(): Promise<void> {
    await this.#ready.promise;
  }

  /** Resolves when every expected byte has arrived. */
  async whole(): Promise<void> {
    await this.#whole.promise;
  }

  /** Resolves when the server reports the session's end, or closes. */
  async over(): Promise<void> {
    await this.#over.promise;
  }

  /** Types one key; returns its time. */
  press(): number {
    const pressedUs = nowUs();
    this.#client.send(this.#dialect.input(KEY));
    return pressedUs;
  }

  /** Microseconds from a key to its echo, `count` times, each after a pause of `gapMs`. */
  async echo(count: number, gapMs: number): Promise<number[]> {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      await new Promise((resolve) => setTimeout(resolve, gapMs));
      const echoed = new Promise<number>((resolve) => {
        this.#awaitsEcho = resolve;
      });
      const pressedUs = this.press();
      times.push((await echoed) - pressedUs);
      if (this.#error !== undefined) throw new Error(this.#error);
    }
    return times;
  }

  pause(): void {
    this.#client.pause();
  }

  resume(): void {
    this.#client.resume();
  }

  throttle(bytesPerSecond: number | undefined): void {
    this.#client.throttle(bytesPerSecond);
  }

  get sight(): Sight {
    return {
      bytes: this.#bytes,
      position: this.#position,
      firstUs: this.#firstUs,
      wholeUs: this.#wholeUs,
      resyncs: this.#resyncs,
      error: this.#error,
    };
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#client[Symbol.dispose]();
  }

  output(bytes: Uint8Array, position: number | undefined): void {
    this.#firstUs ??= nowUs();
    if (position !== undefined && position !== this.#position) {
      this.#fail(`output of byte ${position} where ${this.#position} was due`);
    }
    if (this.#expected.length === Number.POSITIVE_INFINITY) this.#echoed();
    else if (!this.#expected.matches(this.#position, bytes)) {
      this.#fail(`wrong output at byte ${this.#position} to ${this.#position + bytes.length}`);
    }
    this.#bytes += bytes.length;
    this.#advance(this.#position + bytes.length);
  }

  resync(position: number): void {
    this.#firstUs ??= nowUs();
    this.#resyncs++;
    this.#advance(position);
  }

  subscribed(): void {
    this.#subscribed.resolve();
  }

  ended(): void {
    this.#over.resolve();
    this.#lose("the session ended");
  }

  failed(reason: string): void {
    this.#fail(reason);
    this.#subscribed.reject(new Error(reason));
  }

  #echoed(): void {
    const resolve = this.#awaitsEcho;
    this.#awaitsEcho = undefined;
    resolve?.(nowUs());
  }

  #advance(position: number): void {
    this.#position = position;
    if (position >= PREAMBLE.length) this.#ready.resolve();
    if (position !== this.#expected.length) return;
    this.#wholeUs ??= nowUs();
    this.#whole.resolve();
  }

  /** Keeps the first reason; waiting callers are rejected before their deadline. */
  #fail(reason: string): void {
    this.#error ??= reason;
    this.#lose(reason);
  }

  #lose(reason: string): void {
    if (this.#isDisposed) return;
    const error = new Error(reason);
    this.#subscribed.reject(error);
    this.#ready.reject(error);
    this.#whole.reject(error);
    this.#over.resolve();
    this.#echoed();
  }
}

/** Creates the session of a plan with a POST. Throws Error with the server's answer unless it is 201. */
export async function createSession(port: number, create: NonNullable<ViewerPlan["create"]>): Promise<void> {
  const answered = Promise.withResolvers<string>();
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(create.body) };
  const call = request(
    { host: "127.0.0.1", port, path: create.path, method: "POST", headers },
    (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => {
        if (response.statusCode === 201) answered.resolve(body);
        else answered.reject(new Error(`create: ${response.statusCode} ${body}`));
      });
    },
  );
  call.on("error", answered.reject);
  call.end(create.body);
  await answered.promise;
}
