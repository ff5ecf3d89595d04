import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { runCli } from "../../../../../src/cli/program.ts";
import { LEAVE_ALTERNATE_SCREEN, PLAIN_MODES } from "../../../../../src/cli/terminal/terminal-modes.ts";
import {
  decodeFrame,
  encodeFrame,
  encodeOutputFrame,
  FrameType,
} from "../../../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../../../src/protocol/frame/payload.ts";
import { fakeServer } from "../../fake-server.ts";
import { record } from "../../record.ts";
import { cliOf } from "../../run-cli.ts";

const json = (type: FrameType, value: unknown): Uint8Array => encodeFrame(type, "a", encodeJson(value));

test("logs --follow goes on after an error that passes, and ends with the session", async () => {
  await using server = await fakeServer(() => ({ status: 200, body: [record({ id: "a" })] }));
  const sockets = new WebSocketServer({ server: server.http, path: "/ws" });
  let subscriptions = 0;
  sockets.on("connection", (socket) =>
    socket.on("message", (message: Buffer) => {
      if (decodeFrame(message).type !== FrameType.SUBSCRIBE) return;
      subscriptions += 1;
      if (subscriptions === 1) {
        const refusal = { message: "the machine is away", code: "remote_unreachable", request: "subscribe" };
        socket.send(json(FrameType.ERROR, refusal));
        return;
      }
      const answer = { flags: 1, offset: 0, cols: 80, rows: 24, status: "exited" };
      socket.send(json(FrameType.SUBSCRIBED, answer));
      socket.send(encodeOutputFrame("a", 0, Buffer.from("hello\n")));
      socket.send(json(FrameType.EVENT, { kind: "exit", type: "session-exit", sessionId: "a", exitCode: 3 }));
    }),
  );
  const stdout = new PassThrough();
  const argv = ["logs", "--follow", "a", "--control-dir", server.controlDir];
  expect(await runCli(cliOf(argv, { stdout }))).toBe(0);
  expect(String(stdout.read())).toBe("hello\n");
});

test.each([
  { isTTY: true, end: LEAVE_ALTERNATE_SCREEN + PLAIN_MODES },
  { isTTY: false, end: "" },
])("logs gives a terminal its modes back, and a pipe only the output", async ({ isTTY, end }) => {
  const output = "\x1b[?1049h\x1b[?1000hscreen";
  await using server = await fakeServer(() => ({ status: 200, body: [] }));
  server.http.removeAllListeners("request").on("request", ({ url = "" }, response) => {
    response.end(url.includes("/output") ? output : JSON.stringify([record({ id: "a" })]));
  });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  expect(await runCli(cliOf(["logs", "a", "--control-dir", server.controlDir], { stdout }))).toBe(0);
  expect(String(stdout.read())).toBe(output + end);
});

test("ctrl-c during logs gives a terminal its modes back", async () => {
  const output = "\x1b[?1000hscreen";
  await using server = await fakeServer(() => ({ status: 200, body: [] }));
  server.http.removeAllListeners("request").on("request", ({ url = "" }, response) => {
    // The output goes on.
    if (url.includes("/output")) response.write(output);
    else response.end(JSON.stringify([record({ id: "a" })]));
  });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const others = process.listeners("SIGINT");
  const printed = runCli(cliOf(["logs", "a", "--control-dir", server.controlDir], { stdout }));
  await once(stdout, "readable");
  const listening = process.listeners("SIGINT").filter((listener) => !others.includes(listener));
  expect(listening).toHaveLength(1);
  for (const listener of listening) listener("SIGINT");
  expect(await printed).toBe(130);
  expect(String(stdout.read())).toBe(output + PLAIN_MODES);
});
