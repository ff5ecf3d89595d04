import { once } from "node:events";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { expect, test } from "vitest";
import { runCli } from "../../../../src/cli/program.ts";
import { PLAIN_MODES } from "../../../../src/cli/terminal/terminal-modes.ts";
import { REQUEST_TIMEOUT_MS } from "../../../../src/protocol/limits.ts";
import { fakeServer } from "../fake-server.ts";
import { cliOf } from "../run-cli.ts";

const HEADER = '{"version":2,"width":80,"height":24}\n';

test.each(["", HEADER, `${HEADER}[0, "o", "hello"]\n`])(
  "a stop signal ends the play on a terminal of a pipe that says %j and stays open",
  async (text) => {
    const stdin = new PassThrough();
    stdin.write(text);
    const stdout = Object.assign(new PassThrough(), { isTTY: true });
    const listening = stopListeners();
    const played = runCli(cliOf(["play", "-"], { stdin, stdout }));
    await expect.poll(() => listening().length).toBe(1);
    await expect.poll(() => stdin.readableLength).toBe(0);
    for (const listener of listening()) listener("SIGTERM");
    expect(await played).toBe(0);
    expect(String(stdout.read())).toBe(`${text.includes("hello") ? "hello" : ""}${PLAIN_MODES}`);
  },
);

test("stop signals keep their effect on a play into a pipe, which may not be read any more", async () => {
  const stdin = new PassThrough();
  stdin.write(`${HEADER}[0, "o", "hello"]\n`);
  const { promise: begun, resolve: begin } = Promise.withResolvers<() => void>();
  const stdout = new Writable({ write: (_chunk, _encoding, done) => begin(done) });
  const listening = stopListeners();
  const played = runCli(cliOf(["play", "-"], { stdin, stdout }));
  const goOn = await begun;
  expect(listening()).toEqual([]);
  stdin.end();
  goOn();
  expect(await played).toBe(0);
});

/** Those that are added from now on. */
function stopListeners(): () => NodeJS.SignalsListener[] {
  const others = process.listeners("SIGTERM");
  return () => process.listeners("SIGTERM").filter((listener) => !others.includes(listener));
}

test.each(["\x03", "\x1b[99;5u", "\x1b[27;5;99~"])(
  "ctrl-c stops a recording of a program that asked for other key encodings: %j",
  async (ctrlC) => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-play-"));
    const file = join(dir.path, "long.cast");
    writeFileSync(file, `${HEADER}[0, "o", "\\u001b[>1u"]\n[600, "o", "over"]\n`);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stdout = Object.assign(new PassThrough(), { isTTY: true });
    const played = runCli(cliOf(["play", file], { stdin, stdout }));
    await once(stdout, "data");
    stdin.write(ctrlC);
    expect(await played).toBe(0);
  },
);

test("ctrl-c also stops the search for a session at a server that does not answer", async () => {
  await using server = await fakeServer(() => ({ status: 200, body: [] }));
  const asked = once(server.http.removeAllListeners("request"), "request");
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const played = runCli(cliOf(["play", "build", "--control-dir", server.controlDir], { stdin, stdout }));
  await asked;
  const stopped = performance.now();
  stdin.write("\x03");
  expect(await played).toBe(0);
  expect(performance.now() - stopped).toBeLessThan(REQUEST_TIMEOUT_MS / 2);
});
