import { expect, test } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import { type AttachOptions, TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import { bytesOf } from "../protocol/memory-client.ts";
import { MemoryServer } from "../protocol/memory-server.ts";
import { joined, oracleStream } from "./oracle-stream.ts";

type Stage = { readonly server: MemoryServer; readonly client: TerminalClient } & Disposable;

/** A session "a" with that output, and a client of it. */
async function stage(output: string | Uint8Array = "", options: AttachOptions = {}): Promise<Stage> {
  const server = new MemoryServer();
  server.create("a", typeof output === "string" ? bytesOf(output) : output);
  const client = await TerminalClient.over(server.open, "a", options);
  return { server, client, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

function print(server: MemoryServer, text: string): void {
  const session = server.sessions.get("a");
  if (session === undefined) throw new Error("there is no session");
  session.output = joined([session.output, bytesOf(text)]);
  server.feed();
}

function exit(server: MemoryServer, exitCode: number): void {
  const session = server.sessions.get("a");
  if (session !== undefined) session.exitCode = exitCode;
  server.feed();
}

/** What it rejects with, and that it does. */
async function problem(work: Promise<unknown>): Promise<string> {
  const [result] = await Promise.allSettled([work]);
  if (result.status === "fulfilled") throw new Error("it was fulfilled");
  return String(result.reason.message);
}

test("later output is waited for on the screen, and returned with its groups", async () => {
  using it = await stage("$ ");
  const found = it.client.shows(/answer: (\d+)$/m);
  print(it.server, "\x1b[2J\x1b[Hthe \x1b[1manswer\x1b[m: 4");
  print(it.server, "2\r\n");
  expect((await found)[0]).toBe("answer: 4");
  expect((await it.client.shows(/answer: (\d\d)$/m))[1]).toBe("42");
  expect(it.client.screen).toBe("the answer: 42");
  expect(it.client.cursor).toEqual({ column: 0, row: 1 });
});

test("a text is looked for as it is", async () => {
  using it = await stage("[a-c]? $5");
  expect((await it.client.shows("[a-c]? $")).index).toBe(0);
});

test("a pattern for all matches is looked for from the beginning each time", async () => {
  using it = await stage("one");
  const pattern = /one/g;
  await it.client.shows(pattern);
  await it.client.shows(pattern);
});

test("scrolled off text is found on request", async () => {
  const lines = Array.from({ length: 100 }, (_, line) => `line ${line}`).join("\r\n");
  using it = await stage(lines);
  await it.client.shows("line 99");
  expect(it.client.screen).not.toContain("line 3\n");
  await it.client.shows(/^line 3$/m, { withScrollback: true });
});

test("a wait that fails shows the screen, the place in the output, the frames and the scene", async () => {
  using it = await stage("password: ", { scene: () => "the server's log" });
  const message = await problem(it.client.shows(/welcome/, { timeoutMs: 20 }));
  expect(message.split("\n")).toEqual([
    "/welcome/ on the screen did not come within 20 ms",
    "session a, output up to byte 10, connection open",
    expect.stringMatching(/^── screen 80x24 ─+$/),
    "│ password:",
    expect.stringMatching(/^─+$/),
    "last frames:",
    expect.stringMatching(/^ {2}\S+Z SUBSCRIBED 80x24$/),
    expect.stringMatching(/^ {2}\S+Z OUTPUT 0\+10 "password: "$/),
    "the server's log",
  ]);
});

test("a connection that does not come back is reported like everything else that is waited for", async () => {
  using it = await stage("password: ", { scene: () => "the server's log" });
  it.server.refusal = new ServiceError("host_unreachable", "connection refused");
  it.server.link.cut();
  expect(await problem(it.client.connected({ timeoutMs: 20 }))).toMatch(
    /^the connection did not come within 20 ms\nsession a, [\s\S]*│ password:\n[\s\S]*\nthe server's log$/,
  );
  expect(await problem(it.client.connected({ signal: AbortSignal.abort(new Error("enough")) }))).toBe(
    "enough",
  );
});

test("the end of the session is waited for, and ends every other wait", async () => {
  using it = await stage("bye");
  const waiting = problem(it.client.shows("never", { timeoutMs: 60_000 }));
  exit(it.server, 3);
  expect(await it.client.ended()).toMatchObject({ kind: "exit", exitCode: 3 });
  expect(await waiting).toMatch(
    /^the session ended without never on the screen\n[\s\S]*ended with exit code 3/,
  );
  expect(await problem(it.client.shows("later"))).toMatch(/^the session ended without later/);
  await it.client.shows("bye");
});

test("a search that throws fails its own wait, at once or after a change, and no other", async () => {
  using it = await stage("one");
  const find = (): undefined => {
    if (it.client.screen !== "one") throw new Error(`it shows ${it.client.screen}`);
  };
  const waiting = problem(it.client.until(find, "nothing"));
  print(it.server, " two");
  await it.client.shows("two");
  expect(await waiting).toBe("it shows one two");
  expect(await problem(it.client.until(find, "nothing"))).toBe("it shows one two");
  print(it.server, " three");
  await it.client.shows("three");
});

test("a session that is not there is refused at once", async () => {
  const server = new MemoryServer();
  expect(await problem(TerminalClient.over(server.open, "b", { timeoutMs: 60_000 }))).toMatch(
    /^no session b/,
  );
});

test("all output is there, once, over cuts", async () => {
  const whole = joined(oracleStream({ bytes: 20_000, isWild: true }));
  const checker = new OracleChecker();
  using it = await stage(whole.subarray(0, 7_000), { checker });
  await it.client.reaches(7_000);
  const session = it.server.sessions.get("a");
  if (session !== undefined) session.output = whole;
  it.server.isManual = true;
  it.server.feed();
  it.server.link.deliver(100);
  it.server.overlap = 500;
  it.server.link.cut();
  it.server.isManual = false;
  await it.client.reaches(whole.length);
  expect(it.client.reconnects).toBe(1);
  expect(checker.verify().bytes).toBe(whole.length);
  expect(Buffer.compare(it.client.bytes, whole)).toBe(0);
});

test("a reconnect is noticed before the first answer about the session", async () => {
  using it = await stage("$ ");
  await it.client.shows("$");
  const back = it.client.until(() => it.client.reconnects > 0 || undefined, "the reconnect");
  it.server.isManual = true;
  it.server.link.cut();
  await back;
});

test("output that is not held any more is left out: the screen goes on with the server's drawing", async () => {
  const whole = joined(oracleStream({ bytes: 20_000 }));
  const checker = new OracleChecker();
  const server = new MemoryServer();
  server.create("a", whole).held = 12_345;
  using client = await TerminalClient.over(server.open, "a", { checker });
  await client.reaches(whole.length);
  expect(client.resyncs).toBe(1);
  expect(client.screenWithScrollback.startsWith("R")).toBe(true);
  expect(checker.verify().skipped).toBeGreaterThan(0);
  expect(client.bytes).toEqual(Uint8Array.from(whole.subarray(12_345)));
});

test("the screen takes the size that the server says, and every later one", async () => {
  using it = await stage();
  expect(it.client.size).toEqual({ cols: 80, rows: 24 });
  it.server.send(
    FrameType.EVENT,
    "a",
    encodeJson({ kind: "resize", dimensions: "100x30", cols: 100, rows: 30 }),
  );
  await it.client.until(() => (it.client.size.cols === 100 ? true : undefined), "the new size");
  expect(it.client.events).toMatchObject([{ kind: "resize", cols: 100 }]);
});

test("text, bytes and keys are typed; a key that nobody knows is refused", async () => {
  using it = await stage();
  await it.client.type("é");
  await it.client.type(Uint8Array.of(0xff));
  await it.client.press("arrow_up");
  expect(await problem(it.client.press("any"))).toBe("no key is called any");
  expect(it.server.sessions.get("a")?.input).toEqual([bytesOf("é"), Uint8Array.of(0xff), bytesOf("\x1b[A")]);
});

test("a client without a screen says so", async () => {
  using it = await stage("text", { hasScreen: false });
  await it.client.reaches(4);
  expect(() => it.client.screen).toThrow("has no screen");
});
