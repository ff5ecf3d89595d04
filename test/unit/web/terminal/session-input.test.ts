import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import type { ConnectionState } from "../../../../src/protocol/client/connection.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { Reachability } from "../../../../src/web/terminal/reachability.ts";
import { SessionInput } from "../../../../src/web/terminal/session-input.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

class Desk implements Disposable {
  readonly sent: string[] = [];
  readonly errors: unknown[] = [];
  readonly isMachineGone = signal(false);
  readonly reachability = new Reachability({
    isMachineGone: this.isMachineGone,
    check: async () => {},
    onLost: () => {},
    onBack: () => {},
    now: () => 0,
  });
  isRunning = false;
  state: ConnectionState = { kind: "connecting" };
  failure: ServiceError | undefined;
  readonly input: SessionInput;

  constructor() {
    const desk = this;
    const socket = {
      get state() {
        return desk.state;
      },
      async write(_id: string, typed: Uint8Array) {
        if (desk.failure !== undefined) throw desk.failure;
        desk.sent.push(new TextDecoder().decode(typed));
      },
    };
    this.input = new SessionInput({
      id: "s",
      socket,
      reachability: this.reachability,
      isRunning: () => this.isRunning,
      onError: (error) => this.errors.push(error),
    });
  }

  type(text: string): void {
    this.input.type(bytes(text));
  }

  [Symbol.dispose](): void {
    this.input[Symbol.dispose]();
    this.reachability[Symbol.dispose]();
  }
}

test("input before the session and the connection are ready arrives when both are", () => {
  using desk = new Desk();
  desk.type("l");
  desk.isRunning = true;
  desk.input.opened();
  desk.type("s");
  desk.state = { kind: "open" };
  desk.input.opened();
  desk.type("!");
  expect(desk.sent).toEqual(["l", "s", "!"]);
  expect(desk.reachability.refusals.value).toBe(0);
});

test("input after a lost connection is refused and not sent later", () => {
  using desk = new Desk();
  desk.isRunning = true;
  desk.state = { kind: "open" };
  desk.input.opened();
  desk.state = { kind: "connecting" };
  desk.type("x");
  expect(desk.reachability.refusals.value).toBe(1);
  desk.state = { kind: "open" };
  desk.input.opened();
  expect(desk.sent).toEqual([]);
});

test("input typed ahead is dropped when the session opens only to be watched", () => {
  using desk = new Desk();
  desk.state = { kind: "open" };
  desk.type("x");
  desk.input.watching();
  desk.isRunning = true;
  desk.input.opened();
  expect(desk.sent).toEqual([]);
});

test("input of a guest who may type only later is refused after a lost connection and not sent later", () => {
  using desk = new Desk();
  desk.state = { kind: "open" };
  desk.input.watching();
  desk.isRunning = true;
  desk.state = { kind: "connecting" };
  desk.type("x");
  expect(desk.reachability.refusals.value).toBe(1);
  desk.state = { kind: "open" };
  desk.input.opened();
  expect(desk.sent).toEqual([]);
});

test("input to an absent machine is refused at once", () => {
  using desk = new Desk();
  desk.isMachineGone.value = true;
  desk.type("x");
  expect(desk.reachability.refusals.value).toBe(1);
});

test("a refusal of the server is reported", async () => {
  using desk = new Desk();
  desk.isRunning = true;
  desk.state = { kind: "open" };
  desk.failure = new ServiceError("remote_unreachable", "gone");
  desk.type("x");
  await expect.poll(() => desk.errors).toEqual([desk.failure]);
});
