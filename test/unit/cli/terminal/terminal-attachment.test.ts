import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { parseDetachKeys } from "../../../../src/cli/terminal/detach-keys.ts";
import { attachTerminal, watchLink } from "../../../../src/cli/terminal/terminal-attachment.ts";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import { createClient } from "../../../../src/protocol/client/client.ts";
import type { ConnectionState } from "../../../../src/protocol/client/connection.ts";
import type { Link } from "../../../../src/protocol/client/link.ts";
import { SessionSocket } from "../../../../src/protocol/client/session-socket.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { decodeFrame, FrameType } from "../../../../src/protocol/frame/frame.ts";
import { decodeSize } from "../../../../src/protocol/frame/payload.ts";
import { MemoryServer } from "../../protocol/memory-server.ts";
import { cliOf } from "../run-cli.ts";

const error = new ServiceError("host_unreachable", "gone");

function setUp(state: ConnectionState = { kind: "open" }) {
  const states = new Emitter<ConnectionState>();
  const said: string[] = [];
  const lost = Promise.withResolvers<void>();
  const socket = { state, onState: (listener: (state: ConnectionState) => void) => states.on(listener) };
  const notice = watchLink(socket, {
    lost: () => {
      said.push("lost");
      lost.resolve();
    },
    restored: () => void said.push("restored"),
    closed: (reason) => void said.push(`closed ${reason?.message}`),
  });
  return { states, said, lost: lost.promise, notice };
}

test("a planned restart of the server is reported only when it takes longer than announced", async () => {
  const { states, said, lost, notice } = setUp();
  using _notice = notice;
  states.emit({ kind: "connecting", isPlanned: true });
  states.emit({ kind: "waiting", until: 0, error, isPlanned: true });
  states.emit({ kind: "open" });
  expect(said).toEqual(["restored"]);
  states.emit({ kind: "connecting", isPlanned: true });
  // This restart takes longer than announced.
  states.emit({ kind: "waiting", until: 0, error });
  await lost;
  states.emit({ kind: "closed", error });
  expect(said).toEqual(["restored", "lost", "closed gone"]);
});

test("a connection that was lost before watching began is reported", async () => {
  const closed = setUp({ kind: "closed", error });
  using _closed = closed.notice;
  expect(closed.said).toEqual(["closed gone"]);
  const waiting = setUp({ kind: "waiting", until: 0, error });
  using _waiting = waiting.notice;
  await waiting.lost;
  const open = setUp();
  using _open = open.notice;
  expect(open.said).toEqual([]);
});

test("a terminal that was resized while its session was created resizes the session", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 30 });
  const sizes: unknown[] = [];
  const send = (message: Uint8Array): void => {
    const { type, payload } = decodeFrame(message);
    if (type === FrameType.RESIZE) sizes.push(decodeSize(payload));
    // The session is shown: leave it.
    if (type === FrameType.SUBSCRIBE) setImmediate(() => stdin.write("\x1c\x1c"));
  };
  const open = async (): Promise<Link> => ({ send, close: () => undefined, bufferedBytes: 0 });
  const server = {
    client: createClient(() => Promise.reject(new Error("no request is made"))),
    connect: async () => new SessionSocket({ clientName: "test", version: "1.2.3", open }),
    answers: async () => true,
    ...{ name: "here", controlDir: "/there" },
  };
  const exitCode = await attachTerminal({
    ...{ cli: cliOf([], { stdin, stdout }), server, command: "run" },
    session: { id: "s", name: "s", cols: 80, rows: 24 },
    ...{ isReadOnly: false, isQuiet: true, detachKeys: parseDetachKeys("ctrl-\\,ctrl-\\") },
  });
  expect({ exitCode, sizes }).toEqual({ exitCode: 0, sizes: [{ cols: 100, rows: 30 }] });
});

describe("a server that does not answer", () => {
  /** `ttyhq attach` on a terminal; `asked` resolves when it waits for the link or for the screen. */
  function attaching(silent: "link" | "screen") {
    const isRaw: boolean[] = [];
    const setRawMode = (value: boolean): void => void isRaw.push(value);
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
    const asked = Promise.withResolvers<void>();
    const never = async (): Promise<never> => {
      asked.resolve();
      return await new Promise(() => undefined);
    };
    const memory = new MemoryServer();
    const open = silent === "link" ? never : memory.open;
    const ended = attachTerminal({
      ...{ cli: cliOf([], { stdin, stdout }), command: "attach", isReadOnly: false, isQuiet: true },
      server: {
        client: createClient(never),
        connect: async () => new SessionSocket({ clientName: "test", version: "1.2.3", open }),
        answers: async () => true,
        ...{ name: "here", controlDir: "/there" },
      },
      session: { id: "a", name: "a", cols: 80, rows: 24 },
      detachKeys: parseDetachKeys("ctrl-p,ctrl-q"),
    });
    return { stdin, isRaw, ended, asked: asked.promise };
  }

  test.each([
    ["link", []],
    ["screen", [true, false]],
  ] as const)("with the %s does not delay a stop signal", async (silent, modes) => {
    const { asked, ended, isRaw } = attaching(silent);
    await asked;
    process.emit("SIGTERM", "SIGTERM");
    expect(await ended).toBe(143);
    expect(isRaw).toEqual(modes);
  });

  test("with the screen is left by the detach keys", async () => {
    const { asked, ended, isRaw, stdin } = attaching("screen");
    await asked;
    stdin.write("\x10\x11");
    expect(await ended).toBe(0);
    expect(isRaw).toEqual([true, false]);
  });
});

test("a program that was started is named when its session cannot be shown", async () => {
  const refused = new ServiceError("forbidden", "no WebSocket here");
  const stderr = new PassThrough();
  const ended = attachTerminal({
    ...{ cli: cliOf([], { stderr }), command: "run", isReadOnly: false, isQuiet: false },
    server: {
      client: createClient(() => Promise.reject(new Error("no request is made"))),
      connect: async () =>
        new SessionSocket({ clientName: "test", version: "1.2.3", open: () => Promise.reject(refused) }),
      answers: async () => true,
      ...{ name: "here", controlDir: "/there" },
    },
    session: { id: "7f3a", name: "make", cols: 80, rows: 24 },
    detachKeys: parseDetachKeys("none"),
  });
  await expect(ended).rejects.toThrow("no WebSocket here");
  expect(String(stderr.read())).toBe("\r\n[make keeps running; back to it with: ttyhq attach 7f3a]\n");
});

describe("input from a pipe", () => {
  /** `ttyhq run` with pipes, on session "a"; `ended` settles when its reader leaves or it fails. */
  function piped() {
    const server = new MemoryServer();
    const session = server.create("a");
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const times = { quickMs: 50, firstMs: 50 };
    const ended = attachTerminal({
      ...{ cli: cliOf([], { stdin, stdout }), command: "run", isReadOnly: false, isQuiet: true },
      server: {
        client: createClient(() => Promise.reject(new Error("no request is made"))),
        connect: async () =>
          new SessionSocket({ clientName: "test", version: "1.2.3", open: server.open, times }),
        answers: async () => true,
        ...{ name: "here", controlDir: "/there" },
      },
      session: { id: "a", name: "a", cols: 80, rows: 24 },
      detachKeys: parseDetachKeys("none"),
    });
    // A test may end before it is awaited.
    ended.catch(() => undefined);
    const input = (): string => Buffer.concat(session.input).toString();
    const subscribed = expect.poll(() => server.links.at(0)?.cursors.size);
    const leave = (): void => void stdout.destroy(new Error("the reader has left"));
    return { server, stdin, ended, input, leave, subscribed: () => subscribed.toBe(1) };
  }

  test("waits for the connection", async () => {
    const { server, stdin, ended, input, leave, subscribed } = piped();
    await subscribed();
    server.link.cut();
    stdin.write("one ");
    stdin.write("two");
    await expect.poll(input).toBe("one two");
    leave();
    expect(await ended).toBe(0);
  });

  test("waits for a program that does not read", async () => {
    const { server, stdin, ended, input, leave, subscribed } = piped();
    await subscribed();
    server.errorsForCommands.push(new ServiceError("input_overflow", "the program does not read"));
    stdin.write("one ");
    stdin.write("two");
    // The memory server took what it refused.
    await expect.poll(input).toBe("one one two");
    leave();
    expect(await ended).toBe(0);
  });

  test("ends with an error when it may not have arrived, or was refused", async () => {
    const cut = piped();
    await cut.subscribed();
    cut.server.isManual = true;
    cut.stdin.write("one");
    await expect.poll(cut.input).toBe("one");
    cut.server.link.cut();
    await expect(cut.ended).rejects.toThrow("the last input may not have arrived");
    const refused = piped();
    await refused.subscribed();
    refused.server.errorsForCommands.push(new ServiceError("forbidden", "you may only watch"));
    refused.stdin.write("one");
    await expect(refused.ended).rejects.toThrow("you may only watch");
  });
});

test("a terminal says that typed input had no room at a program that does not read", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  const server = new MemoryServer();
  server.create("a");
  const ended = attachTerminal({
    ...{ cli: cliOf([], { stdin, stdout }), command: "run", isReadOnly: false, isQuiet: true },
    server: {
      client: createClient(() => Promise.reject(new Error("no request is made"))),
      connect: async () => new SessionSocket({ clientName: "test", version: "1.2.3", open: server.open }),
      answers: async () => true,
      ...{ name: "here", controlDir: "/there" },
    },
    session: { id: "a", name: "a", cols: 80, rows: 24 },
    detachKeys: parseDetachKeys("ctrl-p,ctrl-q"),
  });
  let shown = "";
  stdout.on("data", (bytes) => {
    shown += bytes;
  });
  await expect.poll(() => server.links.at(0)?.cursors.size).toBe(1);
  server.errorsForCommands.push(new ServiceError("input_overflow", "no room"));
  stdin.write("a long paste");
  await expect.poll(() => shown).toContain("the program does not read");
  stdin.write("\x10\x11");
  expect(await ended).toBe(0);
});
