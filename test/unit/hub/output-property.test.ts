// Whatever a session does and however its viewers read and subscribe: each gets the source without gap or repeat.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import { decodeOutput, type Frame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeSubscribed, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { incompleteUtf8Bytes } from "../../../src/protocol/whole-characters.ts";
import { MemoryClient, settled } from "./memory-client.ts";
import { type MemorySession, MemorySessions } from "./memory-sessions.ts";

const { Stdout, Offsets } = SubscribeFlag;
const VIEWERS = 3;
const KIB = 1024;
/** All output: text of characters of one to four bytes, without escape sequences. */
const LINE = Buffer.from("0123456789 plain, é and €, 😀!\n");
const SOURCE = Buffer.concat(new Array(1_200_000).fill(LINE));
const RESET = Buffer.from("\x1bc");

type Step =
  | { readonly kind: "print"; readonly bytes: number }
  | { readonly kind: "resize"; readonly cols: number }
  | { readonly kind: "read"; readonly viewer: number; readonly frames: number }
  | { readonly kind: "subscribe"; readonly viewer: number; readonly flags: number; readonly from: From }
  | { readonly kind: "unsubscribe"; readonly viewer: number }
  | { readonly kind: "answer"; readonly count: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "skip"; readonly bytes: number }
  | { readonly kind: "drop"; readonly part: number };
/** A part of the output, a named place, or nothing. */
type From = number | "live" | "beyond" | undefined;

const viewer = fc.nat(VIEWERS - 1);
const from: fc.Arbitrary<From> = fc.oneof(
  fc.constantFrom<From>(undefined, undefined, undefined, "live", "beyond", 0, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const bytes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 200 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 256 * KIB }) },
  { weight: 1, arbitrary: fc.integer({ min: 256 * KIB, max: 3 * KIB * KIB }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant("print" as const), bytes }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      viewer,
      frames: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("subscribe" as const), viewer, flags: fc.nat(15), from }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("answer" as const), count: fc.nat(12) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("resize" as const), cols: fc.integer({ min: 1, max: 99 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("unsubscribe" as const), viewer }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(2_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("skip" as const), bytes }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("drop" as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
);

/** A client that knows which byte comes next, and checks every frame against it. */
class CheckedClient {
  readonly client: MemoryClient;
  /** Called when the PONG with that number arrives. */
  readonly #marks = new Map<number, () => void>();
  #mark = 0;
  /** The byte that comes next; undefined before anything came. */
  next: number | undefined;
  /** The output of this subscription is text all the way: never cut by a change from offsets. */
  isWhole = true;
  isSubscribed = false;
  hasExit = false;
  wanted: (number | undefined)[] = [];

  constructor(hub: Hub) {
    this.client = new MemoryClient(hub);
  }

  subscribe(flags: number, from: number | "live" | undefined, end: number): void {
    const hasOffsets = (flags & Offsets) !== 0;
    this.isSubscribed = (flags & Stdout) !== 0;
    if (hasOffsets) this.isWhole = false;
    if (hasOffsets) this.wanted.push(typeof from === "number" ? Math.min(from, end) : undefined);
    this.client.subscribe("s", { flags, ...(hasOffsets ? { from } : {}) });
  }

  unsubscribe(): void {
    this.isSubscribed = false;
    this.client.send(FrameType.UNSUBSCRIBE, "s");
    this.#mark += 1;
    this.#marks.set(this.#mark, () => {
      this.next = undefined;
      this.hasExit = false;
    });
    this.client.send(FrameType.PING, "", new Uint8Array([this.#mark]));
  }

  read(): boolean {
    const frame = this.client.read();
    if (frame !== undefined) this.#check(frame);
    return frame !== undefined;
  }

  #check({ type, payload }: Frame): void {
    if (type === FrameType.PONG) this.#marks.get(payload[0] ?? 0)?.();
    if (type === FrameType.ERROR) throw new Error(new TextDecoder().decode(payload));
    if (type === FrameType.SUBSCRIBED) this.#subscribed(payload);
    if (type === FrameType.OUTPUT) {
      const { offset, bytes } = decodeOutput(payload);
      expect(offset).toBe(this.next);
      this.#take(offset, bytes);
    }
    if (type === FrameType.RESYNC) {
      const { offset, bytes } = decodeResync(payload);
      this.#drawn(bytes);
      expect(this.next).toBe(offset);
    }
    if (type === FrameType.STDOUT) this.#stdout(payload);
    if (type === FrameType.EVENT && new TextDecoder().decode(payload).includes("exit")) this.hasExit = true;
  }

  #subscribed(payload: Uint8Array): void {
    const { flags, offset } = decodeSubscribed(payload);
    const wanted = this.wanted.shift();
    if ((flags & Stdout) === 0) return;
    if (wanted !== undefined) expect(offset).toBe(wanted);
    this.next = offset;
  }

  #stdout(payload: Uint8Array): void {
    if (payload[0] === RESET[0]) {
      this.#drawn(payload.subarray(RESET.length));
      // Output after that offset has not been sent.
      this.next = (this.next ?? 0) - incompleteUtf8Bytes(SOURCE.subarray(0, this.next));
      return;
    }
    if (this.isWhole) new TextDecoder("utf-8", { fatal: true }).decode(payload);
    this.#take(this.next ?? 0, payload);
  }

  #drawn(screen: Uint8Array): void {
    const [, offset] = /^screen at (\d+)\./.exec(new TextDecoder().decode(screen)) ?? [];
    expect(Number(offset)).toBeGreaterThanOrEqual(this.next ?? 0);
    this.next = Number(offset);
  }

  #take(offset: number, bytes: Uint8Array): void {
    expect(this.hasExit && bytes.length > 0).toBe(false);
    expect(SOURCE.compare(bytes, 0, bytes.length, offset, offset + bytes.length)).toBe(0);
    this.next = offset + bytes.length;
  }
}

class World {
  readonly sessions = new MemorySessions();
  readonly session: MemorySession;
  readonly clients: readonly CheckedClient[];
  readonly #waiting: (() => void)[] = [];
  #isOpen = false;
  #time = 0;

  constructor() {
    this.sessions.turn = () =>
      this.#isOpen ? Promise.resolve() : new Promise((resolve) => void this.#waiting.push(resolve));
    this.session = this.sessions.add("s");
    const hub = new Hub({ backend: this.sessions, now: () => this.#time });
    this.clients = Array.from({ length: VIEWERS }, () => new CheckedClient(hub));
  }

  async take(step: Step): Promise<void> {
    if (step.kind === "print") this.#print(step.bytes);
    if (step.kind === "skip") this.session.skip(this.#source(step.bytes));
    if (step.kind === "resize") this.session.resize({ cols: step.cols, rows: 20 });
    if (step.kind === "wait") this.#time += step.ms;
    if (step.kind === "drop") this.session.held = Math.floor(step.part * this.session.end);
    if (step.kind === "answer") for (const resolve of this.#waiting.splice(0, step.count)) resolve();
    if ("viewer" in step) this.#act(step, this.clients[step.viewer]);
    await settled(2);
  }

  /** Everything is answered and read. */
  async finish(): Promise<void> {
    this.session.print(this.#source(LINE.length - (this.session.end % LINE.length)));
    this.session.exit(0);
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
    const isDone = (checked: CheckedClient): boolean =>
      !checked.isSubscribed || (checked.next === this.session.end && checked.hasExit);
    for (let idle = 0; idle < 50 || !this.clients.every(isDone); idle++) {
      if (idle > 20_000) throw new Error("the viewers do not get to the end");
      for (const checked of this.clients) if (checked.read()) idle = 0;
      await settled(1);
    }
    for (const { client } of this.clients) await client[Symbol.asyncDispose]();
  }

  #act(step: Extract<Step, { viewer: number }>, checked: CheckedClient | undefined): void {
    if (checked === undefined) return;
    if (step.kind === "read") for (let i = 0; i < step.frames; i++) checked.read();
    else if (step.kind === "unsubscribe") checked.unsubscribe();
    else checked.subscribe(step.flags, this.#from(step.from), this.session.end);
  }

  #from(from: From): number | "live" | undefined {
    if (from === "beyond") return this.session.end + 1_000_000_000;
    return typeof from === "number" ? Math.floor(from * this.session.end) : from;
  }

  #print(bytes: number): void {
    for (let rest = bytes; rest > 0; rest -= 256 * KIB) {
      this.session.print(this.#source(Math.min(rest, 256 * KIB)));
    }
  }

  /** The next output of the program. */
  #source(bytes: number): Uint8Array {
    const { end } = this.session;
    return SOURCE.subarray(end, end + bytes);
  }
}

test("every viewer gets the source, without gap or repeat", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
      const world = new World();
      for (const next of steps) if (world.session.end < 30 * KIB * KIB) await world.take(next);
      await world.finish();
    }),
    { numRuns: 150, endOnFailure: false },
  );
}, 120_000);
